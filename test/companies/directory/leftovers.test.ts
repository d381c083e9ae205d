import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { statusReport } from '../../../src/companies/directory/index-status.ts';
import { createIndex } from '../../../src/companies/directory/indexing/indices.ts';
import { TIDYING, withDirectoryLock } from '../../../src/companies/directory/lock.ts';
import { tidyNow } from '../../../src/companies/directory/tidy.ts';
import { checkDirectory } from '../../../src/companies/directory/watch.ts';
import { csv } from '../../support/companies.ts';
import { MODES } from '../../support/modes.ts';
import { until } from '../../support/until.ts';
import {
  createWorkbench,
  indicesOf,
  tablesOf,
  vocabulariesOf,
  type Workbench,
} from '../../support/workbench.ts';

let bench: Workbench;
afterEach(() => bench.close());

/** A table with its vocabulary, and an index, as a process leaves them that dies while it builds. */
async function dieWhileBuilding({ tools, alias, mode }: Workbench): Promise<void> {
  await tools.sql`CREATE TABLE directory_g000999 (nif text)`;
  await tools.sql`CREATE TABLE directory_g000999_vocabulary (word text)`;
  const { id } = await readDirectory(tools.sql);
  const meta = { directory: id, fingerprint: '' };
  if (mode === 'full') await createIndex(tools.elasticsearch!, `${alias}-left`, meta);
}

async function left({ mode, alias, ...bench }: Workbench): Promise<string[]> {
  const indices = mode === 'full' ? await indicesOf({ alias }) : [];
  return [...(await tablesOf(bench)), ...(await vocabulariesOf(bench)), ...indices];
}

describe.each([...MODES])('what a killed run has left (%s)', (mode) => {
  test('is removed by a server that starts or looks again, and by index status, which says so', async () => {
    bench = await createWorkbench(mode);
    await bench.importText(csv(0, 10));
    await bench.importText(csv(0, 20));
    const inOrder = await left(bench);
    await dieWhileBuilding(bench);
    expect(await checkDirectory(bench.tools)).toEqual({ warning: null });
    expect(await left(bench)).toEqual(inOrder);

    await dieWhileBuilding(bench);
    const notes: string[] = [];
    const note = (line: string) => void notes.push(line);
    const { documents, running } = await statusReport(bench.tools, { note });
    expect([documents, running, notes]).toEqual([20, null, ['removed what a stopped run had left']]);
    expect(await left(bench)).toEqual(inOrder);
    await statusReport(bench.tools, { note });
    expect(notes).toHaveLength(1);
    expect(await bench.search('empresa')).toHaveLength(20);
    expect((await bench.rollback()).documents).toBe(10);
  });

  test('stays while a run has the lock: it may be what that run builds', async () => {
    bench = await createWorkbench(mode);
    await bench.importText(csv(0, 10));
    await dieWhileBuilding(bench);
    const before = await left(bench);
    await withDirectoryLock(bench.tools, 'companies import', async () => {
      expect(await tidyNow(bench.tools)).toBe(false);
      await statusReport(bench.tools, { note: () => {} });
    });
    expect(await left(bench)).toEqual(before);
    expect(await tidyNow(bench.tools)).toBe(true);
  });
});

test('a command waits for a server that tidies up, also when the clock is set meanwhile, as after a machine slept', async () => {
  bench = await createWorkbench('postgres');
  const { promise: isHeld, resolve: onHeld } = Promise.withResolvers<void>();
  const tidying = withDirectoryLock(bench.tools, TIDYING, async () => {
    onHeld();
    // The command has run out of its patience and has read the name of the holder.
    await until('the command', async () => {
      const [row] = await bench.database.sql`
        SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%lock_holder AS holder%'`;
      return row !== undefined;
    });
  });
  await isHeld;
  let hours = 0;
  const clock = spyOn(Date, 'now').mockImplementation(() => 3_600_000 * hours++);
  const short = withDirectoryLock(bench.tools, 'index rebuild', async () => 'done', { patienceMs: 10 });
  expect(await short.finally(() => clock.mockRestore())).toBe('done');
  await tidying;
});

test('an index that an alias points to stays; the alias of 0.1.0 follows each change, another one stays where it is', async () => {
  bench = await createWorkbench('full');
  const client = bench.tools.elasticsearch!;
  const { alias } = bench;
  const targets = async (name: string) => Object.keys(await client.indices.getAlias({ name }));
  const { index: first } = await bench.importText(csv(0, 10));
  await client.indices.putAlias({ index: first, name: alias });
  await client.indices.putAlias({ index: first, name: `${alias}-own` });
  for (const rows of [20, 30, 40]) {
    const { index } = await bench.importText(csv(0, rows));
    expect(await targets(alias)).toEqual([index]);
  }
  const { index } = await bench.rebuild();
  expect(await targets(alias)).toEqual([index]);
  const { index: back } = await bench.rollback();
  expect(await targets(alias)).toEqual([back]);
  expect(await targets(`${alias}-own`)).toEqual([first]);
  expect(await indicesOf(bench)).toContain(first);
  await client.indices.deleteAlias({ index: first, name: `${alias}-own` });
  expect(await tidyNow(bench.tools)).toBe(true);
  expect(await indicesOf(bench)).toEqual([(await bench.status()).index]);
});

test('an alias that leads to the index of another database stays where it is', async () => {
  bench = await createWorkbench('full');
  const client = bench.tools.elasticsearch!;
  const other = `${bench.alias}-other`;
  await createIndex(client, other, { directory: 'another', fingerprint: '' });
  await client.indices.putAlias({ index: other, name: bench.alias });
  await bench.importText(csv(0, 10));
  expect(Object.keys(await client.indices.getAlias({ name: bench.alias }))).toEqual([other]);
  expect(await bench.search('empresa')).toHaveLength(10);
});
