#!/usr/bin/env bun
/**
 * `.ci/haproxy.ts`: two instances of the service behind a real HAProxy with the configuration of examples/three-machines. Its own
 * check must take in those that are ready, take out one that stops, and no request may fail meanwhile. Exit code 77 means skipped:
 * this machine has no HAProxy.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SECOND } from '../src/platform/units.ts';
import { freePort } from '../src/service/listen.ts';
import { createProcesses, isReady, ROOT, START_TIMEOUT_MS, until } from './parts.ts';

const CHECK_TIMEOUT_MS = 20 * SECOND;
const LOOPBACKS = ['127.0.0.1', '127.0.0.2'];

const haproxy = Bun.which('haproxy');
if (haproxy === null) {
  process.stdout.write('skipped .ci/haproxy.ts: haproxy is not installed\n');
  process.exit(77);
}

const folder = await mkdtemp(join(tmpdir(), 'ci-haproxy-'));
const statusSocket = join(folder, 'status.sock');
const apiPort = freePort('0.0.0.0', 0);
const balancerPort = freePort('127.0.0.1', 0);
const balancerUrl = `http://127.0.0.1:${balancerPort}`;
const { start, stop } = createProcesses(folder);

const startInstance = (host: string, shutdownDelayS: number) =>
  start([process.execPath, 'src/main.ts', 'serve'], {
    HOST: host,
    PORT: String(apiPort),
    PUBLIC_URL: balancerUrl,
    DATA_DIR: join(folder, 'data'),
    REGISTRY: 'none',
    SHUTDOWN_DELAY_S: String(shutdownDelayS),
  });

/** The example's configuration at addresses of this machine. Docker's name server, which is not here, would give those of the instances. */
async function writeConfiguration(): Promise<string> {
  let configuration = await Bun.file(join(ROOT, 'examples/three-machines/haproxy.cfg')).text();
  const here: [string, string][] = [
    ['bind :8080', `bind 127.0.0.1:${balancerPort}`],
    ['bind :6379', `bind unix@${join(folder, 'redis.sock')}`],
    [
      '  server-template api 10 api:3000\n',
      LOOPBACKS.map((ip, n) => `  server api${n + 1} ${ip}:${apiPort}\n`).join(''),
    ],
    ['\n\ndefaults', `\n  stats socket ${statusSocket}\n\ndefaults`],
  ];
  for (const [from, to] of here) {
    if (!configuration.includes(from)) throw new Error(`haproxy.cfg has no longer ${JSON.stringify(from)}`);
    configuration = configuration.replaceAll(from, to);
  }
  const file = join(folder, 'haproxy.cfg');
  await Bun.write(file, configuration);
  return file;
}

/** The result of the check of each instance, such as `UP L7OK 200`. */
async function checks(): Promise<string[]> {
  const socket = connect(statusSocket);
  socket.end('show stat\n');
  const [head = '', ...rows] = (await text(socket)).replace(/^# /, '').split('\n');
  const columns = head.split(',');
  return rows
    .map((row) => row.split(','))
    .map((cells) => Object.fromEntries(columns.map((column, index) => [column, cells[index]])))
    .filter(({ pxname, svname }) => pxname === 'instances' && svname?.startsWith('api'))
    .map(({ status, check_status, check_code }) => `${status} ${check_status} ${check_code}`)
    .filter((check) => !check.startsWith('MAINT'))
    .toSorted();
}

async function untilChecks(...expected: string[]): Promise<void> {
  const what = `the checks are ${expected.join(', ')}`;
  await until(what, CHECK_TIMEOUT_MS, async () => Bun.deepEquals(await checks(), expected)).catch(
    async (error) => {
      throw new Error(`${error.message}; they are ${(await checks()).join(', ')}`);
    },
  );
}

/** Asks by the balancer until it is stopped. @returns what ends it, and says how many were answered */
function askOn(): () => Promise<number> {
  let isAsking = true;
  const asked = (async () => {
    let answers = 0;
    for (; isAsking; answers += 1) {
      const { status } = await fetch(`${balancerUrl}/health/live`);
      if (status !== 200) throw new Error(`a request by the balancer was answered ${status}`);
      await Bun.sleep(5);
    }
    return answers;
  })();
  return () => {
    isAsking = false;
    return asked;
  };
}

try {
  const configuration = await writeConfiguration();
  const [first, second] = LOOPBACKS.map((host) => ({ host, url: `http://${host}:${apiPort}` }));
  startInstance(first!.host, 0);
  await until('the first instance is ready', START_TIMEOUT_MS, isReady(first!.url));
  const leaving = startInstance(second!.host, 5);
  await until('the second instance is ready', START_TIMEOUT_MS, isReady(second!.url));
  start([haproxy, '-f', configuration]);
  await untilChecks('UP L7OK 200', 'UP L7OK 200');

  const stopAsking = askOn();
  leaving.kill('SIGTERM');
  await untilChecks('DOWN L7STS 503', 'UP L7OK 200');
  await leaving.exited;
  const answers = await stopAsking();
  process.stdout.write(
    `HAProxy took a stopping instance out, and all of ${answers} requests were answered\n`,
  );
} catch (error) {
  process.stderr.write(`.ci/haproxy.ts failed: ${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  await stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit();
