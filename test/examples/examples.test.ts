/** The programs in `examples`, as a customer runs them, against the real service. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { responseTo } from '../../src/http/answer.ts';
import type { Problem } from '../../src/http/problems.ts';
import { type Api, type Caller, startApi } from '../support/api.ts';
import { bareEnvironment, ROOT } from '../support/command.ts';
import { nifPtFound } from '../support/provider.ts';

const EXAMPLES = join(ROOT, 'examples');
const INSTALL_TIMEOUT_MS = 180_000;
const DIRECTORY = `nif,legal_name
500002576,"Ábaco & Filhos, Lda"
500002568,Abacate Lda
`;

/** How each program is run. Python's is only run where there is a Python: no other part of the project needs one. */
const programs: Record<string, string[]> = {
  TypeScript: [process.execPath, 'companies.ts'],
  shell: ['sh', join(EXAMPLES, 'shell/companies.sh')],
};
if (Bun.which('python3')) programs.Python = ['python3', join(EXAMPLES, 'python/companies.py')];

let api: Api;
/** A copy of the TypeScript example: packages and generated types stay out of the checkout. */
let folder: string;

const inFolder = async (...words: string[]) => {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: folder,
    env: { ...bareEnvironment(), DIRECTORY_URL: api.baseUrl },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, output: stdout + stderr };
};

beforeAll(async () => {
  api = await startApi({ directory: DIRECTORY });
  for (const nif of ['500002576', '500002568']) api.provider.answer(nif, nifPtFound(nif));
  folder = await mkdtemp(join(tmpdir(), 'examples-test-'));
  for (const name of ['package.json', 'bun.lock', 'tsconfig.json', 'companies.ts', 'patient-fetch.ts']) {
    await copyFile(join(EXAMPLES, 'typescript', name), join(folder, name));
  }
  for (const words of [
    ['install', '--frozen-lockfile'],
    ['run', 'generate'],
  ]) {
    const { code, output } = await inFolder(...words);
    if (code !== 0) throw new Error(`bun ${words.join(' ')}: ${output}`);
  }
}, INSTALL_TIMEOUT_MS);
afterAll(async () => {
  await api?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The service behind an address that answers `first` to the first requests. */
function startFront(first: Problem[]) {
  const requests: { path: string; atMs: number }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      requests.push({ path: pathname, atMs: performance.now() });
      const problem = first.shift();
      if (problem) return responseTo(api.baseUrl, { ok: false, problem });
      return fetch(api.baseUrl + pathname + search, { headers: request.headers });
    },
  });
  return { requests, url: server.url.origin, stop: () => server.stop(true) };
}

async function runAt(url: string, program: string, key: string) {
  const child = Bun.spawn([...programs[program]!, 'ábac'], {
    cwd: folder,
    env: { ...bareEnvironment(), DIRECTORY_URL: url, DIRECTORY_KEY: key },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

async function run(program: string, key: string, first: Problem[] = []) {
  const front = startFront([...first]);
  const outcome = await runAt(front.url, program, key);
  await front.stop();
  return { ...outcome, requests: front.requests };
}

const inASecond = (kind: Problem['kind']): Problem => ({ kind, headers: { 'Retry-After': '1' } });
const CALLS = ['/api/v1/companies', '/api/v1/companies/500002568', '/api/v1/usage'];

test('the types that are generated from the OpenAPI document fit the TypeScript example', async () => {
  expect(await inFolder('run', 'typecheck')).toMatchObject({ code: 0 });
});

describe.each(Object.keys(programs))('the example in %s', (program) => {
  let caller: Caller;
  beforeAll(async () => {
    caller = await api.caller();
  });

  test('searches, looks the first company up and shows the credits, for two credits', async () => {
    const { code, stdout, stderr, requests } = await run(program, caller.key);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('500002568');
    expect(stdout).toContain('Ábaco & Filhos, Lda');
    expect(stdout).toMatch(/credits left: 498|"used":2/);
    expect(requests.map(({ path }) => path)).toEqual(CALLS);
    expect(await api.ledger(caller)).toEqual({ used: 2, credits: 0 });
  });

  test('waits as long as Retry-After says, and asks again', async () => {
    const { code, stderr, requests } = await run(program, caller.key, [
      inASecond('rate-limit-exceeded'),
      inASecond('service-unavailable'),
    ]);
    expect([code, stderr]).toEqual([0, '']);
    expect(requests.map(({ path }) => path)).toEqual([CALLS[0]!, CALLS[0]!, ...CALLS]);
    expect(requests[2]!.atMs - requests[0]!.atMs).toBeGreaterThan(1900);
  });

  test('gives up after four attempts', async () => {
    const { code, stderr, requests } = await run(
      program,
      caller.key,
      Array.from({ length: 9 }, () => inASecond('service-unavailable')),
    );
    expect([code, requests.length]).toEqual([1, 4]);
    expect(stderr).toContain('service-unavailable');
  });

  test('says in one line that nothing answers', async () => {
    const { code, stderr } = await runAt('http://127.0.0.1:9', program, caller.key);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^[^\n]+\n$/);
  });

  test('asks once when the key is wrong, and when the credits are used up', async () => {
    const wrongKey = await run(program, 'svc_wrong');
    expect([wrongKey.code, wrongKey.requests.length]).toEqual([1, 1]);
    expect(wrongKey.stderr).toContain('unauthorized');
    expect(wrongKey.stderr).toContain('DIRECTORY_KEY');
    const { key } = await api.caller({ included: 0 });
    const noCredits = await run(program, key);
    expect([noCredits.code, noCredits.requests.length]).toEqual([1, 1]);
    expect(noCredits.stderr).toMatch(/monthly-quota-exceeded/);
    expect(noCredits.stderr).toMatch(/no credits (until 20\d\d-|for \d+ seconds)/);
  });

  test('asks once for a problem that costs a credit each time', async () => {
    const { code, stderr, requests } = await run(program, caller.key, [{ kind: 'search-failed' }]);
    expect([code, requests.length]).toEqual([1, 1]);
    expect(stderr).toContain('search-failed');
  });
});
