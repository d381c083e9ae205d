/** An import whose Postgres goes away ends soon, and says what to do; failures/failover.test.ts has one whose Postgres dies. */
import { expect, test } from 'bun:test';
import { importCompanies } from '../../../src/companies/directory/directory-import.ts';
import { messageOf } from '../../../src/platform/errors.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { csv } from '../../support/companies.ts';
import { waitingForLock } from '../../support/locks.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { startProxy } from '../../support/proxy.ts';
import { createWorkbench } from '../../support/workbench.ts';

test('a connection that is lost while the server answers ends the import, which changes nothing', async () => {
  const bench = await createWorkbench('postgres');
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
  await bench.close();
});
