import { afterAll, afterEach, expect, test } from 'bun:test';
import { freePort } from '../../src/service/listen.ts';
import { endWorker } from '../../src/service/workers.ts';
import { sendRaw } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import '../support/modes.ts';
import { createTestEnvironment, type ServiceProcess, spawnService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Odd, so that no two workers can have answered as many. */
const REQUESTS = 61;

const services: ServiceProcess[] = [];
const environment = await createTestEnvironment({ mode: 'full' });
afterEach(() => {
  // Kills what a failed test has left: the parent first, because it would start its workers again.
  for (const service of services) {
    for (const pid of [service.pid, ...workersOf(service).map(({ pid }) => pid)]) killIfThere(pid);
  }
  services.length = 0;
});
// Fails if any of the processes has left a connection to the database open.
afterAll(() => environment.remove());

/** Starts two workers and waits until both listen. */
async function startTwo(port = 0): Promise<ServiceProcess> {
  const service = await spawnService({ ...environment.env, PORT: String(port) }, '--workers', '2');
  services.push(service);
  await until('both workers', () => said(service, 'listening') === 2);
  return service;
}

const said = ({ logLines }: ServiceProcess, message: string) =>
  logLines.filter(({ msg }) => msg === message).length;
const portOf = ({ baseUrl }: ServiceProcess) => Number(new URL(baseUrl).port);

/** Every worker that was started, in that order. */
function workersOf({ logLines }: ServiceProcess): { worker: number; pid: number }[] {
  return logLines
    .filter(({ msg }) => msg === 'started a worker')
    .map(({ worker, pid }) => ({ worker: Number(worker), pid: Number(pid) }));
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

function isPortFree(port: number): boolean {
  try {
    freePort('127.0.0.1', port);
    return true;
  } catch {
    return false;
  }
}

/** Each on a new connection, because connections are dealt out. */
const get = (service: ServiceProcess, path: string) =>
  sendRaw(service, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);

/** Sends new requests. @returns how many of them each worker says that it has answered */
async function sharesOf(service: ServiceProcess): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: REQUESTS }, () => get(service, '/health/live')));
  for (const answer of answers) expect(answer).toStartWith('HTTP/1.1 200');
  const shares = new Set<number>();
  await until('the counts of both', async () => {
    const text = await get(service, '/metrics');
    shares.add(Number(/^http_requests_total\{route="\/health\/live",status="200"\} (\d+)$/m.exec(text)?.[1]));
    return shares.size === 2;
  });
  return [...shares];
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

test('without REDIS_URL they are refused, exit 2: every worker would have its own buckets', async () => {
  const { REDIS_URL: _, ...env } = environment.env;
  const { code, stdout, stderr } = await runCommand(env, 'serve', '--workers', '2');
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^error: [^\n]*REDIS_URL[^\n]*\n$/);
});

test('on a taken port, or where HOST is none of this machine, they don’t start: one line, exit 1', async () => {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const refusal = (env: Record<string, string>) =>
    runCommand({ ...environment.env, ...env }, 'serve', '--workers', '2');
  const taken = `127.0.0.1:${listener.port}`;
  expect(await refusal({ PORT: String(listener.port) })).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `error: can't listen on ${taken}: something listens there already: stop it, or set another PORT (or HOST)\n`,
  });
  listener.stop(true);
  for (const PORT of ['0', '3000']) {
    expect(await refusal({ HOST: '192.0.2.1', PORT })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `error: can't listen on 192.0.2.1:${PORT}: HOST is no address of this machine\n`,
    });
  }
});

test('two workers share the connections to one port, also when one was killed; SIGTERM ends both, exit 0, and the port is free', async () => {
  const service = await startTwo();
  const [victim] = workersOf(service);
  // One that was killed is started again, and answers.
  process.kill(victim!.pid, 'SIGKILL');
  await until('the third', () => said(service, 'listening') === 3);
  const [, , third] = workersOf(service);
  expect(third!.worker).toBe(victim!.worker);
  expect(third!.pid).not.toBe(victim!.pid);
  expect(sum(await sharesOf(service))).toBe(REQUESTS);
  expect(await service.kill('SIGTERM')).toBe(0);
  expect(isPortFree(portOf(service))).toBe(true);
  await until('their last lines', () => said(service, 'stopping') === 2);
  expect(workersOf(service)).toHaveLength(3);
});

test('after kill -9 of their parent they stop as by SIGTERM, and the next start has the port', async () => {
  const service = await startTwo();
  expect(await service.kill('SIGKILL')).toBe('SIGKILL');
  await until('the port', () => isPortFree(portOf(service)));
  await until('their last lines', () => said(service, 'stopping') === 2);
  const next = await startTwo(portOf(service));
  expect(portOf(next)).toBe(portOf(service));
  expect(await next.kill('SIGTERM')).toBe(0);
});

test('a worker that does not heed SIGTERM is killed when its time is over', async () => {
  const stuck = Bun.spawn(['sh', '-c', 'trap "" TERM; echo; exec sleep 60'], { stdout: 'pipe' });
  await stuck.stdout.getReader().read();
  const startedAt = performance.now();
  await endWorker(stuck, 300);
  expect(performance.now() - startedAt).toBeGreaterThan(290);
  expect(stuck.signalCode).toBe('SIGKILL');
});

test('a worker that ends is not waited for any longer', async () => {
  const willing = Bun.spawn(['sleep', '60']);
  await endWorker(willing, 30_000);
  expect(willing.signalCode).toBe('SIGTERM');
});
