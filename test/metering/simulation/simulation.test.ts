/** The ledger under simulated faults. Each run has a process of its own, because it replaces the process's clocks. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { runBun } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';
import { FAULTS, type Fault, IN_TURN, SQL_FAULTS } from './faults.ts';
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

test.each(FAULTS.map(({ name }) => name))(
  'it finds the planted fault: %s',
  async (name) => {
    const { code, stdout } = await play('--fault', name, '--seconds', '100');
    expect(stdout).toStartWith('seed ');
    expect(code).toBe(1);
  },
  120_000,
);

const NO_FAULT = { patches: [] };

/** @param patches those of a function in the database are planted there */
async function inPostgres(by: 'compare' | 'race', { patches }: Pick<Fault, 'patches'>, ...words: string[]) {
  const { url, sql, drop } = await createTestDatabase(by);
  try {
    for (const { file, from, to } of patches.filter((patch) => patch.file === IN_TURN)) {
      const [row] = await sql<{ text: string }[]>`SELECT pg_get_functiondef(${file}::regproc) AS text`;
      await sql.unsafe(replaced(file, row!.text, from, to));
    }
    return await runBun({ DATABASE_URL: url }, join(import.meta.dir, `${by}.ts`), ...words);
  } finally {
    await drop();
  }
}

test('a real Postgres ends as the model does', async () => {
  const { code, stdout } = await inPostgres('compare', NO_FAULT, '--histories', '60');
  expect(stdout).toContain('Postgres ends as the model does');
  expect(code).toBe(0);
}, 120_000);

test('two processes at once on a real Postgres lose no credit, and are in no deadlock', async () => {
  const { code, stdout } = await inPostgres('race', NO_FAULT);
  expect(stdout).toBe('all right\n');
  expect(code).toBe(0);
}, 120_000);

test.each(SQL_FAULTS)(
  'Postgres shows the planted fault: $name',
  async ({ name, by, patches }) => {
    const long = by === 'race' ? ['--seconds', '5'] : ['--histories', '500'];
    const { code, stdout } = await inPostgres(by, { patches }, '--fault', name, ...long);
    expect(stdout).not.toBe('');
    expect(code).toBe(1);
  },
  120_000,
);
