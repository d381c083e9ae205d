/** An import whose Postgres goes away ends soon, and says what to do. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { importCompanies } from '../../../src/companies/directory/directory-import.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { csv } from '../../support/companies.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { startProxy, type TcpProxy } from '../../support/proxy.ts';
import { until } from '../../support/until.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

let bench: Workbench;
let proxy: TcpProxy;
let sql: Sql;
beforeEach(async () => {
  bench = await createWorkbench('postgres');
  proxy = await startProxy(bench.database.url);
  sql = connectPostgres(proxy.url(bench.database.url), { applicationName: 'through a proxy' });
  await bench.importText(csv(0, 3));
});
afterEach(async () => {
  proxy.up();
  await sql.end({ timeout: 1 });
  await proxy.close();
  await bench.close();
});

/** An import that waits for its next row until the test is over, through the proxy. */
async function stuckImport() {
  const rows = await bench.write('rows.csv', csv(0, 10));
  const blocker = await bench.database.sql.reserve();
  await blocker`BEGIN`;
  // The import's comparison waits for it.
  await blocker.unsafe('LOCK TABLE directory_generations IN ACCESS EXCLUSIVE MODE');
  const importing = importCompanies(
    { ...bench.tools, databaseUrl: proxy.url(bench.database.url), sql },
    { path: rows },
    {},
    NO_PROGRESS,
  ).then(
    () => 'done',
    (error: Error) => error.message,
  );
  await until('the wait', async () => {
    const [row] = await bench.database.sql<{ waiting: number }[]>`
      SELECT count(*) AS waiting FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name LIKE '%import'`;
    return row!.waiting === 1;
  });
  const release = async () => {
    await blocker`ROLLBACK`;
    blocker.release();
  };
  return { importing, release };
}

test('a connection that is lost while the server answers ends the import, which changes nothing', async () => {
  const before = await bench.status();
  const { importing, release } = await stuckImport();
  // The session's own connection is never told.
  proxy.mute();
  await bench.database.sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE '%import'`;
  expect(await importing).toBe(
    'the connection to Postgres was lost: readers see the old data or the new, never a mix; run the command again',
  );
  await release();
  proxy.up();
  expect(await bench.status()).toEqual(before);
  expect((await bench.importText(csv(0, 5))).imported).toBe(2);
});

test('a connection that is reset is named as what it is', async () => {
  const { importing, release } = await stuckImport();
  proxy.down();
  expect(await importing).toStartWith('the connection to Postgres was lost: ');
  await release();
});
