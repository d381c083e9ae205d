/** Which index is current, as every instance follows it. */
import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { makeCurrent, nextGeneration, readDirectory } from '../../../src/companies/directory/generations.ts';
import { withDirectoryLock } from '../../../src/companies/directory/lock.ts';
import { watchCurrentIndex } from '../../../src/companies/search/current-index.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startProxy } from '../../support/proxy.ts';
import { until } from '../../support/until.ts';

let current: ReturnType<typeof watchCurrentIndex>;

const database = await createTestDatabase('current_index');
const proxy = await startProxy(database.url);
beforeEach(() => {
  current = watchCurrentIndex(proxy.url(database.url));
});
afterEach(async () => {
  proxy.up();
  await current.close();
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

/** Makes a generation current, as an import does: the next empty table with this index. */
async function change(index: string | null): Promise<void> {
  const { url: databaseUrl, sql } = database;
  const tools = { databaseUrl, sql, signal: new AbortController().signal, actor: 'test' };
  await withDirectoryLock(tools as Parameters<typeof withDirectoryLock>[0], 'test', async (lock) => {
    const next = await nextGeneration(sql);
    await sql.unsafe(`CREATE TABLE ${next.tableName} (LIKE directory_g000001 INCLUDING ALL)`);
    await makeCurrent(
      lock,
      await readDirectory(sql),
      { ...next, rows: 0, normalization: null, origin: 'import', file: 'x.csv' },
      index === null ? null : { name: index, fingerprint: 'test' },
      tools.actor,
    );
  });
}

test('no index is known before the first read; then each change is known by notification', async () => {
  expect(current.name()).toBeNull();
  await change('one');
  await until('the first index', () => current.name() === 'one');
  await change('two');
  await until('the second index', () => current.name() === 'two');
  await change(null);
  await until('no index', () => current.name() === null);
});

test('none is known while the connection is away; what changed meanwhile is known when it is back', async () => {
  await change('five');
  await until('the index', () => current.name() === 'five');
  proxy.down();
  await until('the loss of the connection', () => current.name() === null);
  await change('six');
  expect(current.name()).toBeNull();
  proxy.up();
  await until('the index after the reconnection', () => current.name() === 'six');
  // Notifications arrive on the new connection, too.
  await change('seven');
  await until('the next index', () => current.name() === 'seven');
});

test('a connection that is gone without a word is noticed', async () => {
  await change('eight');
  await until('the index', () => current.name() === 'eight');
  proxy.hang();
  await until('that nothing is known', () => current.name() === null);
  await change('nine');
  proxy.up();
  await until('the index after the reconnection', () => current.name() === 'nine');
});

test('a read that waits for a lock is cancelled, so that none stays behind in Postgres', async () => {
  await change('lock');
  await until('the index', () => current.name() === 'lock');
  const lock = await database.sql.reserve();
  try {
    await lock`BEGIN`;
    await lock`LOCK TABLE directory IN ACCESS EXCLUSIVE MODE`;
    const waiting = () => database.sql<{ read: string }[]>`
      SELECT concat_ws(' ', pid, query_start) AS read FROM pg_stat_activity
      WHERE application_name = 'company-directory index watch' AND datname = current_database()
        AND wait_event_type = 'Lock'`;
    let first: string | undefined;
    await until('a read that waits', async () => {
      first ??= (await waiting())[0]?.read;
      return first !== undefined;
    });
    await until('its end', async () => (await waiting()).every(({ read }) => read !== first));
  } finally {
    await lock`ROLLBACK`;
    lock.release();
  }
  await until('the index after the lock', () => current.name() === 'lock');
});

test('once closed none is known', async () => {
  await change('ten');
  await until('the index', () => current.name() === 'ten');
  await current.close();
  expect(current.name()).toBeNull();
});
