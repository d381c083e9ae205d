/** Sessions of Postgres that last long, or are lost, while a command changes the directory. failures/failover.test.ts has a Postgres that dies. */
import { expect, test } from 'bun:test';
import { importCompanies } from '../../../src/companies/directory/directory-import.ts';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { rebuildIndex, rollbackIndex } from '../../../src/companies/directory/rebuild.ts';
import { tidyNow } from '../../../src/companies/directory/tidy.ts';
import { messageOf } from '../../../src/platform/errors.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { csv } from '../../support/companies.ts';
import { cancelWaiting, waitingForLock } from '../../support/locks.ts';
import { MODES } from '../../support/modes.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { startProxy } from '../../support/proxy.ts';
import { createWorkbench, tablesOf, type Workbench } from '../../support/workbench.ts';

/** A transaction that has read a table, and is left open. */
async function openReader({ database }: Workbench, table: string) {
  const sql = connectPostgres(database.url, { max: 1, applicationName: 'monthly report' });
  const reader = await sql.reserve();
  await reader.unsafe(`BEGIN; SELECT count(*) FROM ${table}`);
  return {
    async count() {
      const [row] = await reader.unsafe<{ rows: number }[]>(`SELECT count(*) AS rows FROM ${table}`);
      return row!.rows;
    },
    async leave() {
      await reader.unsafe('COMMIT');
      reader.release();
      await sql.end({ timeout: 1 });
    },
  };
}

test('an import, a rebuild and a rollback wait for no reader of the directory, and take nothing from it', async () => {
  await using bench = await createWorkbench('postgres');
  await bench.importText(csv(0, 3));
  const path = await bench.write('next.csv', csv(0, 5));
  for (const [change, rows] of [
    [() => importCompanies(bench.tools, { path }, {}, NO_PROGRESS), 5],
    [() => rebuildIndex(bench.tools, NO_PROGRESS), 5],
    [() => rollbackIndex(bench.tools, NO_PROGRESS), 3],
  ] as const) {
    const before = await bench.rows();
    const { table } = (await readDirectory(bench.tools.sql)).current;
    const reader = await openReader(bench, table);
    await change();
    expect(await bench.rows()).toHaveLength(rows);
    expect(await bench.search('empresa')).toHaveLength(rows);
    expect(await reader.count()).toBe(before.length);
    await reader.leave();
  }
});

test.each(MODES)(
  'a backup that begins while an import builds its table delays nothing of it, %s',
  async (mode) => {
    await using bench = await createWorkbench(mode);
    const { sql } = bench.database;
    await bench.importText(csv(0, 3));
    // An import waits before its first index, when its new table is filled and visible.
    const GATE = 4_711;
    await sql.unsafe(`
    CREATE FUNCTION wait_at_gate() RETURNS event_trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_lock_shared(${GATE}); PERFORM pg_advisory_unlock_shared(${GATE}); END';
    CREATE EVENT TRIGGER gate ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION wait_at_gate()`);
    const gate = await sql.reserve();
    await gate`SELECT pg_advisory_lock(${GATE})`;
    const importing = bench.importText(csv(0, 5));
    await waitingForLock(sql, 1);
    // As pg_dump begins.
    const backup = await openReader(bench, (await tablesOf(bench)).at(-1)!);
    await gate`SELECT pg_advisory_unlock(${GATE})`;
    gate.release();
    expect(await importing).toMatchObject({ imported: 2 });
    expect(await backup.count()).toBe(5);
    await backup.leave();
  },
);

test('a backup that reads an old table does not keep an import; the table goes when the backup has ended', async () => {
  await using bench = await createWorkbench('postgres');
  await bench.importText(csv(0, 3));
  const old = (await tablesOf(bench)).at(-1);
  await bench.importText(csv(0, 4));
  const backup = await openReader(bench, old!);
  const notes: string[] = [];
  const progress = { ...NO_PROGRESS, note: (line: string) => void notes.push(line) };
  const path = await bench.write('next.csv', csv(0, 5));
  expect(await importCompanies(bench.tools, { path }, {}, progress)).toMatchObject({ imported: 1 });
  expect(notes).toContain(
    'a session reads an old table, such as a backup or an export: the next check removes the table',
  );
  expect(await tablesOf(bench)).toContain(old!);
  expect(await tidyNow(bench.tools)).toBe(false);
  // The next import doesn't wait for it either.
  expect(await bench.importText(csv(0, 6))).toMatchObject({ imported: 1 });
  // Nor does it fail if Postgres calls the end of its wait a "user request".
  let isCancelled = false;
  const cancelling = cancelWaiting(bench.tools.sql).then(() => {
    isCancelled = true;
  });
  while (!isCancelled) expect(await tidyNow(bench.tools)).toBe(false);
  await cancelling;
  await backup.leave();
  expect(await tidyNow(bench.tools)).toBe(true);
  expect(await tablesOf(bench)).not.toContain(old!);
  expect(await tablesOf(bench)).toHaveLength(2);
});

test('a connection that is lost while the server answers ends the import, which changes nothing', async () => {
  await using bench = await createWorkbench('postgres');
  const { url, sql } = bench.database;
  const proxy = await startProxy(url);
  const proxied = connectPostgres(proxy.url(url), { applicationName: 'through a proxy' });
  await bench.importText(csv(0, 3));
  const before = await bench.status();
  const path = await bench.write('rows.csv', csv(0, 10));
  const blocker = await sql.reserve();
  // The import's comparison waits for it.
  await blocker.unsafe('BEGIN; LOCK TABLE directory_generations IN ACCESS EXCLUSIVE MODE');
  const context = { ...bench.tools, databaseUrl: proxy.url(url), sql: proxied };
  const importing = importCompanies(context, { path }, {}, NO_PROGRESS).catch(messageOf);
  await waitingForLock(sql, 1);
  // The session's own connection is never told.
  proxy.mute();
  await sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE '%import'`;
  expect(await importing).toBe(
    'the connection to Postgres was lost: readers see the old data or the new, never a mix; run the command again',
  );
  await blocker.unsafe('ROLLBACK');
  blocker.release();
  proxy.up();
  expect(await bench.status()).toEqual(before);
  expect((await bench.importText(csv(0, 5))).imported).toBe(2);
  await proxied.end({ timeout: 1 });
  await proxy.close();
});
