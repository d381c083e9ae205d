import { afterAll, beforeEach, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { postgresPid, temporaryDirectory } from '../platform/postgres/embedded/support.ts';
import { bareEnvironment, outcomeOf, ROOT } from '../support/command.ts';
import { until } from '../support/until.ts';

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

const directory = temporaryDirectory('demo');
/** Not there yet when the first demo starts. The lines that it prints quote it for a shell. */
const dataDir = join(directory.path, "the 'data'");

/** As its user runs it: with a shell for the lines that it prints. */
async function startDemo() {
  const child = spawn(process.execPath, ['run', 'demo'], {
    cwd: ROOT,
    env: {
      ...bareEnvironment(),
      // The bun that a package script finds.
      PATH: `${join(process.execPath, '..')}:${process.env.PATH}`,
      DATA_DIR: dataDir,
      PORT: '0',
      // The demo ignores these settings: it uses no server of another service, and sends no key to one.
      ...OF_ANOTHER_SERVICE,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  const exited = once(child, 'exit');
  await until('the greeting', () => stdout.includes('Ctrl-C') || isOver(), 40_000);
  if (isOver()) throw new Error(`the demo ended with ${child.exitCode}\n${stderr}`);
  return {
    stdout,
    address: /running at ([^\s,]+)/.exec(stdout)![1]!,
    /** Signals `bun run` alone, and waits until it is gone. */
    async end(signal: NodeJS.Signals) {
      child.kill(signal);
      await exited;
    },
  };
}

type Demo = Awaited<ReturnType<typeof startDemo>>;
let demo: Demo;
/** `null` after a test that ended it. */
let running: Demo | null = null;
/** All tests share the data, because to make it takes seconds. So the test that changes it is the last one. */
beforeEach(async () => {
  running ??= await startDemo();
  demo = running;
});
afterAll(async () => {
  await running?.end('SIGTERM');
  await directory.dispose();
});

/** Ends the demo of all tests, by a signal of its launcher. */
async function endDemo(signal: NodeJS.Signals) {
  running = null;
  await demo.end(signal);
  await until('Postgres to stop', () => postgresPid(dataDir) === null);
  expect(await fetch(`${demo.address}/health/live`).catch(() => 'refused')).toBe('refused');
}

const curlLines = () => demo.stdout.split('\n').filter((line) => line.startsWith('curl'));

/** Runs a line as a shell does that has no `bun` on its PATH, as after `npx bun run demo`. */
async function run(line: string) {
  const env = { ...process.env, PATH: '/usr/bin:/bin' };
  const child = Bun.spawn(['sh', '-c', line], { env, stdout: 'pipe', stderr: 'pipe' });
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return JSON.parse(text);
}

test('it prints a key and four lines that begin with curl: search, lookup, usage, and a list screened for debts; and a test key', async () => {
  const lines = curlLines();
  expect(lines).toHaveLength(4);
  const key = demo.stdout.split('\n').find((line) => /^svc_[a-z2-7]{40}$/.test(line));
  for (const line of lines) expect(line).toContain(`Bearer ${key}`);
  const testKey = demo.stdout.split('\n').find((line) => /^svc_test_[a-z2-7]{40}$/.test(line));
  const { data } = await run(lines[0]!.replace(key!, testKey!).replace('q=constru', 'q=padaria'));
  expect(data[0].legal_name).toBe('Padaria Ábaco & Filhos, Lda');
  expect(demo.stdout).toMatch(/^For agents: http:\/\/127\.0\.0\.1:\d+\/mcp /m);
  expect(demo.stdout).not.toContain(OF_ANOTHER_SERVICE.PUBLIC_URL);

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

  const screened = await run(lines[3]!);
  expect(screened.datasets).toEqual({ tax: '2026-10-31', social_security: '2026-11-02' });
  type Screened = { nif: string; debts: Record<'tax_debt' | 'social_security_debt', unknown> };
  const debtors = screened.data.map(({ debts: { tax_debt, social_security_debt } }: Screened) => [
    tax_debt !== null,
    social_security_debt !== null,
  ]);
  expect(debtors).toEqual([
    [true, false],
    [true, true],
    [false, true],
    [false, false],
    [false, false],
  ]);
});

test("the answers of docs/api.md are those of the demo's test key", async () => {
  const key = demo.stdout.split('\n').find((line) => line.startsWith('svc_test_'));
  const text = await Bun.file(join(ROOT, 'docs/api.md')).text();
  const examples = [
    ...text
      .replaceAll('http://127.0.0.1:3000', demo.address)
      .matchAll(/^```sh\n(curl [^`]+)^```\n\n```json\n([^`]+)^```/gm),
  ];
  expect(examples).toHaveLength(3);
  for (const [, request, answer] of examples)
    expect(await run(`API_KEY=${key}; ${request}`)).toEqual(JSON.parse(answer!));
});

test('its dashboard lets anyone sign up, and it says where the names are from and that the rest is empty', async () => {
  expect((await fetch(`${demo.address}/dashboard/sign-up`)).status).toBe(200);
  expect(demo.stdout).toMatch(/IMPIC/);
  expect(demo.stdout).toMatch(/leaves? the rest empty/);
});

test('without DATA_DIR it keeps to a separate folder, and a taken port leaves no account there', async () => {
  const directory = temporaryDirectory('demo');
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const run = (dataDir: string, script: string, ...words: string[]) =>
    outcomeOf(
      Bun.spawn([process.execPath, join(ROOT, script), ...words], {
        cwd: directory.path,
        env: { ...bareEnvironment(), PORT: String(server.port), DATA_DIR: dataDir },
        stdout: 'pipe',
        stderr: 'pipe',
      }),
    );
  try {
    const taken = expect.stringContaining('something listens there already');
    expect(await run('', 'src/demo/demo.ts')).toMatchObject({ code: 1, stderr: taken });
    expect(readdirSync(join(directory.path, '.data'))).toEqual(['demo']);
    const list = ['src/main.ts', 'account', 'list', '--json'] as const;
    expect(await run('.data/demo', ...list)).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
    const made =
      /^made a new embedded installation in \/.+\/\.data\/postgres, because DATABASE_URL is not set\n$/;
    const stderr = expect.stringMatching(made);
    expect(await run('', ...list)).toEqual({ code: 0, stdout: '[]\n', stderr });
  } finally {
    await server.stop(true);
    await directory.dispose();
  }
});

// SIGTERM ends the next test's.
test('SIGHUP of `bun run` stops all of it', () => endDemo('SIGHUP'));

test('it prints an import that makes changes of debts; what was imported stays when it starts again', async () => {
  const [importLine, changesLine] = demo.stdout
    .split('\n')
    .find((line) => line.includes('debts import'))!
    .split(' && ') as [string, string];
  expect(await run(`${importLine} --json`)).toMatchObject({ appeared: 1, changed: 1, ended: 1 });
  const { data } = await run(changesLine);
  const changes = data.map(({ change }: { change: string }) => change);
  expect(changes.toSorted()).toEqual(['appeared', 'changed', 'ended']);

  const importOurs = async (words: string, text: string) => {
    const path = join(directory.path, 'ours.csv');
    writeFileSync(path, text);
    await run(importLine.replace(/debts import .*/, `${words.replace('FILE', path)} --json`));
  };
  // None of the companies of the examples, which the guard of an import would refuse.
  await importOurs(
    'debts import FILE --kind tax --date 2026-11-20 --force --force',
    'nif,start,end\n500002576,1,2\n',
  );
  await importOurs('companies import FILE --replace --force', 'nif,legal_name\n500002576,Ours\n');
  await endDemo('SIGTERM');

  const second = await startDemo();
  expect(second.stdout).not.toContain('debts import');
  const [key] = /svc_[a-z2-7]{40}/.exec(second.stdout)!;
  const get = (path: string) =>
    run(`curl -s -H "Authorization: Bearer ${key}" "${second.address}/api/v1${path}"`);
  expect((await get('/companies?q=ours')).data).toHaveLength(1);
  expect((await get('/companies?q=constru')).data).toEqual([]);
  await second.end('SIGTERM');
});
