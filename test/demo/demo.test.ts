import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { postgresPid, temporaryDirectory } from '../postgres/embedded-support.ts';
import { bareEnvironment, ROOT } from '../support/command.ts';
import { until } from '../support/until.ts';

/** As its user runs it: a data directory that isn't there yet, and a shell for the lines that it prints. */
const directory = temporaryDirectory('demo');
const dataDir = join(directory.path, 'data');
/** As an operator's shell or .env may have it, with values that would end another start. */
const OF_ANOTHER_SERVICE = {
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  ELASTICSEARCH_URL: 'http://127.0.0.1:1',
  REDIS_URL: 'redis://127.0.0.1:1',
  PUBLIC_URL: 'http://127.0.0.1:1',
  REGISTRY: 'einforma',
  NIF_PT_KEY_FILE: '/none/nif-pt-key',
  AUTH_SECRET: 'short',
  SIGN_UP: 'closed',
};
let demo: ChildProcess;
let stdout = '';
let stderr = '';

beforeAll(async () => {
  demo = spawn(process.execPath, ['run', 'demo'], {
    cwd: ROOT,
    env: {
      ...bareEnvironment(),
      // The bun that a package script finds.
      PATH: `${join(process.execPath, '..')}:${process.env.PATH}`,
      DATA_DIR: dataDir,
      PORT: '0',
      // Whatever is set around it, the demo takes no server of anybody's, and sends its key to nobody else.
      ...OF_ANOTHER_SERVICE,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  demo.stdout!.on('data', (chunk) => {
    stdout += chunk;
  });
  demo.stderr!.on('data', (chunk) => {
    stderr += chunk;
  });
  await until('the greeting', () => stdout.includes('Ctrl-C') || demo.exitCode !== null, 25_000);
  if (demo.exitCode !== null) throw new Error(`the demo ended with ${demo.exitCode}\n${stderr}`);
}, 30_000);
afterAll(async () => {
  if (demo.exitCode === null) {
    demo.kill('SIGKILL');
    await once(demo, 'exit');
  }
  await directory.dispose();
});

const curlLines = () => stdout.split('\n').filter((line) => line.startsWith('curl'));

/** Runs a line as a shell does. */
async function run(line: string) {
  const child = Bun.spawn(['sh', '-c', line], { stdout: 'pipe', stderr: 'pipe' });
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return JSON.parse(text);
}

test('it prints a key and three lines that begin with curl: search, lookup, usage', async () => {
  const lines = curlLines();
  expect(lines).toHaveLength(3);
  const key = stdout.split('\n').find((line) => /^svc_[a-z2-7]{40}$/.test(line));
  for (const line of lines) expect(line).toContain(`Bearer ${key}`);
  expect(stdout).not.toContain(OF_ANOTHER_SERVICE.PUBLIC_URL);

  const search = await run(lines[0]!);
  expect(search.error).toBeNull();
  expect(search.data.length).toBeWithin(1, 21);
  for (const { nif, legal_name } of search.data) {
    expect(nif).toMatch(/^\d{9}$/);
    expect(legal_name.toLowerCase()).toStartWith('constru');
  }

  const lookup = await run(lines[1]!);
  expect(lookup.result).toBe('success');
  const { nif, title, ...rest } = lookup.data;
  expect(title).not.toBe('');
  expect(rest).toEqual({
    address: '',
    zipcode: '',
    city: '',
    activity: '',
    status: '',
    cae: '',
    structure: { nature: '', capital: '0', capital_currency: 'EUR' },
    tax_debt: null,
    social_security_debt: null,
  });
  expect(nif).toBeInteger();

  const usage = await run(lines[2]!);
  expect(usage.data.quotas.requests).toEqual({ used: 2, limit: 500, unit: 'calls' });
});

test('its dashboard lets anyone sign up', async () => {
  const address = /running at ([^\s,]+)/.exec(stdout)![1]!;
  expect((await fetch(`${address}/dashboard/sign-up`)).status).toBe(200);
});

test('it says where the names are from and that the example provider leaves the rest empty', () => {
  expect(stdout).toMatch(/IMPIC/);
  expect(stdout).toMatch(/leaves? the rest empty/);
});

test('SIGTERM stops all of it', async () => {
  const exited = once(demo, 'exit');
  demo.kill('SIGTERM');
  await exited;
  await until('Postgres to stop', () => postgresPid(dataDir) === null);
  const address = /running at ([^\s,]+)/.exec(stdout)![1]!;
  expect(await fetch(`${address}/health/live`).catch(() => 'refused')).toBe('refused');
});
