/** The ledger under simulated faults. Each run has a process of its own, because it replaces the process's clocks. */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { runBun } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';
import { FAULTS, faultNamed, IN_TURN, namesOf, SQL_FAULTS } from './faults.ts';
import { replaced } from './seam.ts';

const play = (...words: string[]) => runBun({}, join(import.meta.dir, 'run.ts'), ...words);

test('some thousand histories with faults, deaths and changes end as the oracle says', async () => {
  const { code, stdout } = await play('--seconds', '10');
  expect(stdout).toContain('all right');
  expect(code).toBe(0);
}, 60_000);

test('a seed is a run: its trace is the same, byte by byte', async () => {
  const [one, other] = [await play('--seed', '52'), await play('--seed', '52')];
  expect(one.stdout).toContain('chargeAtOnce is sent');
  expect(other.stdout).toBe(one.stdout);
}, 60_000);

/** The first history in which a fault shows that few histories meet. After a change of the ledger the search goes on from there. */
const SEEDS: Record<string, string> = {
  'one void ends the doubt of all': '32868',
  'a wait for a lock fails the batch': '3078',
  'a stop forgets the refunds in memory': '3160',
};

test.each(namesOf(FAULTS))(
  'it finds the planted fault: %s',
  async (name) => {
    const { code, stdout } = await play('--fault', name, '--seconds', '100', '--seed', SEEDS[name] ?? '1');
    expect(stdout).toStartWith('seed ');
    expect(code).toBe(1);
  },
  120_000,
);

/** @param name of a fault. One of a function in the database is planted there */
async function inPostgres(by: 'compare' | 'race', name?: string, ...words: string[]) {
  const fault = faultNamed(name, SQL_FAULTS[by]);
  await using database = await createTestDatabase(by);
  const { url, sql } = database;
  if (fault?.file === IN_TURN) {
    const [row] = await sql<{ text: string }[]>`SELECT pg_get_functiondef(${IN_TURN}::regproc) AS text`;
    await sql.unsafe(replaced(row!.text, fault));
  }
  const planted = name === undefined ? [] : ['--fault', name];
  return await runBun({ DATABASE_URL: url }, join(import.meta.dir, `${by}.ts`), ...planted, ...words);
}

test('a real Postgres ends as the model does', async () => {
  const { code, stdout } = await inPostgres('compare', undefined, '--histories', '60');
  expect(stdout).toContain('Postgres ends as the model does');
  expect(code).toBe(0);
}, 120_000);

test('two processes at once on a real Postgres lose no credit, and are in no deadlock', async () => {
  const { code, stdout } = await inPostgres('race');
  expect(stdout).toBe('all right\n');
  expect(code).toBe(0);
}, 120_000);

describe.each([
  ['compare', '--histories', '500'],
  ['race', '--seconds', '5'],
] as const)('Postgres shows the planted fault in %s.ts:', (by, ...long) => {
  test.each(namesOf(SQL_FAULTS[by]))(
    '%s',
    async (name) => {
      const { code, stdout } = await inPostgres(by, name, ...long);
      expect(stdout).not.toBe('');
      expect(code).toBe(1);
    },
    120_000,
  );
});
