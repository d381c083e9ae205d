import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { countMessages, killCommandAt, runCommand } from '../../support/command.ts';
import { nif } from '../../support/companies.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createFolder } from '../../support/folder.ts';

const ROUNDS = 6;
const ROWS = 2_000;

const database = await createTestDatabase('debts_kill');
const folder = createFolder('debts-kill');
afterAll(() => database.drop());

/** A debtors' list in which every bracket starts at `start`. */
async function debtors(start: number): Promise<string> {
  const path = join(folder, `${start}.jsonl`);
  const lines = Array.from({ length: ROWS }, (_, n) =>
    JSON.stringify({ nipc: nif(n), step: { start, end: null } }),
  );
  await Bun.write(path, lines.join('\n'));
  return path;
}

const words = (path: string) => [
  ...['debts', 'import', path, '--kind', 'tax', '--date', '2026-10-31'],
  ...['--columns', 'nif=nipc,start=step.start,end=step.end'],
];

async function starts(): Promise<{ start: number; rows: number }[]> {
  const rows = await database.sql<{ start: number; rows: number }[]>`
    SELECT start_amount AS start, count(*) AS rows FROM debts GROUP BY start_amount`;
  return rows.map((row) => ({ ...row }));
}

test('kill -9 leaves lookups with a whole dataset at any moment, and the next import succeeds', async () => {
  const env = { DATABASE_URL: database.url };
  const total = await countMessages(env, ...words(await debtors(1)));
  let stored = 1;
  for (let round = 0; round < ROUNDS; round++) {
    const next = 2 + round;
    await killCommandAt({ fraction: round / ROUNDS, total }, env, ...words(await debtors(next)));
    const found = await starts();
    expect(found).toEqual([{ start: expect.any(Number), rows: ROWS }]);
    expect([stored, next]).toContain(found[0]!.start);
    stored = found[0]!.start;
  }
  expect((await runCommand(env, ...words(await debtors(100)))).code).toBe(0);
  expect(await starts()).toEqual([{ start: 100, rows: ROWS }]);
});
