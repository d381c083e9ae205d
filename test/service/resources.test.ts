import { expect, test } from 'bun:test';
import { readConfig } from '../../src/config.ts';
import { connectPostgres } from '../../src/postgres/connect.ts';
import { openStores } from '../../src/stores.ts';
import { runCommand } from '../support/command.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { createTestEnvironment } from '../support/service.ts';

test('a store that can not be closed is reported, and the others are closed all the same', async () => {
  const { env, remove } = await createTestEnvironment({ mode: 'full' });
  const lines: string[] = [];
  const stores = await openStores(readConfig(env), { onLog: (line) => lines.push(line) });
  stores.elasticsearch!.close = () => Promise.reject(new Error('it hangs\nand hangs'));
  await stores.close();
  expect(lines).toEqual(['closing Elasticsearch failed: it hangs']);
  // Fails if a connection to Postgres was left open.
  await remove();
});

test('a database whose encoding is not UTF-8 is refused with one line and exit code 2, unchanged', async () => {
  const { url, drop } = await createEmptyDatabase(
    'ascii',
    `ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'`,
  );
  for (const words of [['serve'], ['migrate', '--json']]) {
    const { code, stdout, stderr } = await runCommand({ DATABASE_URL: url }, ...words);
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      'error: DATABASE_URL names a database with the encoding SQL_ASCII: make another with ' +
        "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0\n",
    ]);
  }
  const sql = connectPostgres(url, { max: 1 });
  expect((await sql`SELECT FROM pg_tables WHERE schemaname = 'public'`).length).toBe(0);
  await sql.end();
  await drop();
}, 20_000);
