import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nif } from '../directory/support.ts';
import { bareEnvironment, ROOT } from '../support/command.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const ROUNDS = 6;
const ROWS = 20_000;

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase('debts_kill');
  folder = await mkdtemp(join(tmpdir(), 'debts-kill-test-'));
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

/** A debtors' document in which every bracket starts at `start`. */
async function debtors(start: number): Promise<string> {
  const path = join(folder, `${start}.json`);
  const colective = Array.from({ length: ROWS }, (_, n) => ({ nipc: nif(n), step: { start, end: null } }));
  await Bun.write(path, JSON.stringify({ singular_debtors: [], colective_debtors: colective }));
  return path;
}

function startImport(path: string) {
  const words = ['debts', 'import', path, '--kind', 'tax', '--date', '2026-10-31'];
  const form = ['--list', 'colective_debtors', '--columns', 'nif=nipc,start=step.start,end=step.end'];
  return Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), ...words, ...form], {
    cwd: ROOT,
    env: { ...bareEnvironment(), DATABASE_URL: database.url },
    stdout: 'ignore',
    stderr: 'ignore',
  });
}

async function starts(): Promise<{ start: number; rows: number }[]> {
  const rows = await database.sql<{ start: number; rows: number }[]>`
    SELECT start_amount AS start, count(*) AS rows FROM debts GROUP BY start_amount`;
  return rows.map((row) => ({ ...row }));
}

test('kill -9 leaves lookups with a whole dataset at any moment, and the next import succeeds', async () => {
  const startedAt = performance.now();
  expect(await startImport(await debtors(1)).exited).toBe(0);
  const wholeMs = performance.now() - startedAt;
  let stored = 1;
  let killed = 0;
  for (let next = 2; next < 2 + ROUNDS; next++) {
    const child = startImport(await debtors(next));
    // From when it reads to when it commits.
    await Bun.sleep(wholeMs * (0.3 + 0.7 * Math.random()));
    child.kill('SIGKILL');
    await child.exited;
    if (child.signalCode === 'SIGKILL') killed++;
    const found = await starts();
    expect(found).toEqual([{ start: expect.any(Number), rows: ROWS }]);
    // A commit may still have been on its way when the process died.
    expect(found[0]!.start).toBeWithin(stored, next + 1);
    stored = found[0]!.start;
  }
  expect(killed).toBeGreaterThan(0);
  expect(await startImport(await debtors(100)).exited).toBe(0);
  expect(await starts()).toEqual([{ start: 100, rows: ROWS }]);
}, 60_000);
