/** The ledger under simulated faults. Each run has a process of its own, because it replaces the process's clocks. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { runBun } from '../../support/command.ts';
import { FAULTS } from './faults.ts';

const play = (...words: string[]) => runBun({}, join(import.meta.dir, 'run.ts'), ...words);

test('some thousand histories with faults, deaths and changes end as the oracle says', async () => {
  const { code, stdout } = await play('--seconds', '10');
  expect(stdout).toContain('all right');
  expect(code).toBe(0);
}, 60_000);

test('a seed is a run: its trace is the same, byte by byte', async () => {
  const [one, other] = [await play('--seed', '52'), await play('--seed', '52')];
  expect(one.stdout).toContain('chargeAllowances is sent');
  expect(other.stdout).toBe(one.stdout);
}, 60_000);

test.each(FAULTS.map(({ name }) => name))(
  'it finds the planted fault: %s',
  async (name) => {
    const { code, stdout } = await play('--fault', name, '--seconds', '60');
    expect(stdout).toStartWith('seed ');
    expect(code).toBe(1);
  },
  120_000,
);
