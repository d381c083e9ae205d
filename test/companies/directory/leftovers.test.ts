import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { collectGarbageNow } from '../../../src/companies/directory/garbage.ts';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { createIndex } from '../../../src/companies/directory/indexing/indices.ts';
import { withDirectoryLock } from '../../../src/companies/directory/lock.ts';
import { ensureSearchable } from '../../../src/companies/directory/startup-check.ts';
import { statusReport } from '../../../src/companies/directory/status.ts';
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
  const meta = { directory: id, generation: 999, fingerprint: '' };
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
    expect(await ensureSearchable(bench.tools)).toEqual({ ok: true, warnings: [] });
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
      expect(await collectGarbageNow(bench.tools)).toBe(false);
      await statusReport(bench.tools, { note: () => {} });
    });
    expect(await left(bench)).toEqual(before);
    expect(await collectGarbageNow(bench.tools)).toBe(true);
  });

  test('is nothing after a rollback: it removes what it has undone', async () => {
    bench = await createWorkbench(mode);
    await bench.importText(csv(0, 10));
    await bench.importText(csv(0, 20));
    await bench.rollback();
    const { index } = await bench.status();
    const tables = ['directory_g000002', 'directory_g000002_vocabulary'];
    expect(await left(bench)).toEqual([...tables, ...(mode === 'full' ? [index] : [])]);
    expect(await bench.search('empresa')).toHaveLength(10);
  });
});

test('a command waits for the first check of a server, which makes the empty index', async () => {
  bench = await createWorkbench('full');
  const { promise: isHeld, resolve: onHeld } = Promise.withResolvers<void>();
  const { indices } = bench.tools.elasticsearch!;
  const create = indices.create.bind(indices) as (...args: unknown[]) => Promise<unknown>;
  const delayed = async (...args: unknown[]) => {
    onHeld();
    // The command has run out of its patience and has read the name of the holder.
    await until('the command', async () => {
      const [row] = await bench.database.sql`
        SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%lock_holder AS holder%'`;
      return row !== undefined;
    });
    return create(...args);
  };
  Object.assign(indices, { create: delayed });
  const check = ensureSearchable(bench.tools);
  await isHeld;
  const short = withDirectoryLock(bench.tools, 'index rebuild', async () => 'done', { patienceMs: 10 });
  expect(await short).toBe('done');
  expect(await check).toEqual({ ok: true, warnings: [] });
});

test('after a kill between Postgres’s change and the alias’s, status says what searches see, and a rollback moves nothing', async () => {
  bench = await createWorkbench('full');
  await bench.importText(csv(0, 10));
  await bench.importText(csv(0, 20));
  const client = bench.tools.elasticsearch!;
  const { index, previous } = await bench.status();
  await client.indices.updateAliases({
    actions: [{ remove: { index, alias: bench.alias } }, { add: { index: previous!, alias: bench.alias } }],
  });
  expect(await statusReport(bench.tools, { note: () => {} })).toMatchObject({
    drift: 10,
    driftMeans: 'searches still see the directory before the last import',
  });
  const moves = spyOn(client.indices, 'updateAliases');
  expect(await bench.rollback()).toEqual({ index: previous!, previous: null, documents: 10 });
  expect(moves).not.toHaveBeenCalled();
  moves.mockRestore();
  expect(await bench.search('empresa')).toHaveLength(10);
});
