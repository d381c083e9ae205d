/** Sessions that read the directory while a command changes it. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { collectGarbageNow } from '../../src/directory/garbage.ts';
import { importCompanies } from '../../src/directory/import.ts';
import { rollbackIndex } from '../../src/directory/rebuild.ts';
import { connectPostgres } from '../../src/postgres/connect.ts';
import { csv } from '../support/companies.ts';
import { NO_PROGRESS } from '../support/progress.ts';
import { until } from '../support/until.ts';
import { createWorkbench, tablesOf, type Workbench } from '../support/workbench.ts';

let bench: Workbench;
beforeEach(async () => {
  bench = await createWorkbench('postgres');
});
afterEach(() => bench.close());

/** A transaction that has read a table or the view, and is left open. */
async function openReader(table: string) {
  const sql = connectPostgres(bench.database.url, { max: 1, applicationName: 'monthly report' });
  const reader = await sql.reserve();
  await reader.unsafe(`BEGIN; SELECT count(*) FROM ${table}`);
  const [row] = await reader<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return {
    pid: row!.pid,
    async leave() {
      await reader.unsafe('COMMIT');
      reader.release();
      await sql.end({ timeout: 1 });
    },
  };
}

/** Progress that keeps the phases and notes. */
function recorded() {
  const phases: string[] = [];
  const notes: string[] = [];
  const phase = (name: string) => void phases.push(name);
  const note = (line: string) => void notes.push(line);
  return { phases, notes, progress: { ...NO_PROGRESS, phase, note } };
}

test('an import and a rollback wait for a reader for as long as it takes, and name it', async () => {
  await bench.importText(csv(0, 3));
  const path = await bench.write('next.csv', csv(0, 5));
  for (const [change, rows] of [
    [(progress: typeof NO_PROGRESS) => importCompanies(bench.tools, { path }, {}, progress), 5],
    [(progress: typeof NO_PROGRESS) => rollbackIndex(bench.tools, progress), 3],
  ] as const) {
    const reader = await openReader('directory_entries');
    const { phases, progress } = recorded();
    const changing = change(progress);
    const waiting = `waiting for monthly report, process ${reader.pid} of Postgres, which reads the directory`;
    await until('the wait', () => phases.at(-1) === waiting);
    // A change that waits blocks no search.
    for (let search = 0; search < 20; search++) expect(await bench.search('empresa')).not.toEqual([]);
    await reader.leave();
    await changing;
    expect(phases.filter((phase) => phase.startsWith('waiting for'))).toEqual([
      'waiting for readers of the directory',
      waiting,
    ]);
    expect(await bench.rows()).toHaveLength(rows);
  }
});

test('Ctrl-C ends the wait, and nothing has changed', async () => {
  await bench.importText(csv(0, 3));
  const before = await tablesOf(bench);
  const reader = await openReader('directory_entries');
  const { phases, progress } = recorded();
  const abort = new AbortController();
  const path = await bench.write('next.csv', csv(0, 5));
  const importing = importCompanies({ ...bench.tools, signal: abort.signal }, { path }, {}, progress);
  const outcome = importing.catch((error) => error);
  await until('the wait', () => phases.at(-1)?.startsWith('waiting for monthly report') === true);
  const reason = new Error('interrupted');
  abort.abort(reason);
  expect(await outcome).toBe(reason);
  expect(await bench.rows()).toHaveLength(3);
  expect(await tablesOf(bench)).toEqual(before);
  await reader.leave();
  expect(await bench.importFile(path)).toMatchObject({ imported: 2 });
});

test('a backup that reads an old table does not keep an import; the table goes when the backup has ended', async () => {
  await bench.importText(csv(0, 3));
  const old = (await tablesOf(bench)).at(-1);
  await bench.importText(csv(0, 4));
  const backup = await openReader(old!);
  const { notes, progress } = recorded();
  const path = await bench.write('next.csv', csv(0, 5));
  expect(await importCompanies(bench.tools, { path }, {}, progress)).toMatchObject({ imported: 1 });
  expect(notes).toContain('a session reads an old table, such as a backup: the next check removes the table');
  expect(await tablesOf(bench)).toContain(old!);
  expect(await collectGarbageNow(bench.tools)).toBe(false);
  // The next import doesn't wait for it either.
  expect(await bench.importText(csv(0, 6))).toMatchObject({ imported: 1 });
  await backup.leave();
  expect(await collectGarbageNow(bench.tools)).toBe(true);
  expect(await tablesOf(bench)).not.toContain(old!);
  expect(await tablesOf(bench)).toHaveLength(2);
});

test('a dry run compares with the directory as it is when the file is read', async () => {
  await bench.importText(csv(0, 3));
  const { readable, writable } = new TransformStream<Uint8Array>();
  const file = writable.getWriter();
  const dry = importCompanies(bench.tools, { stdin: readable }, { dryRun: true }, NO_PROGRESS);
  await file.write(Buffer.from(csv(0, 5)));
  // The first generation is removed by the second import from here.
  await bench.importText(csv(0, 4));
  await bench.importText(csv(0, 5));
  await file.close();
  expect(await dry).toMatchObject({ read: 5, imported: 0, unchanged: 5, rejected: 0 });
});
