import { afterAll, describe, expect, test } from 'bun:test';
import { openEmbeddedPostgres } from '../../../../src/platform/postgres/embedded/embedded.ts';
import { disposeSeed, query, superuserUrl, usedDataDir } from './support.ts';

const dataDir = await usedDataDir();
afterAll(disposeSeed);

describe('the service is no superuser', () => {
  test('it owns its database, and may neither run programs nor read files', async () => {
    const embedded = await openEmbeddedPostgres(dataDir);
    expect(
      await query(
        embedded.url,
        `SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
           (SELECT count(*)::int FROM pg_auth_members WHERE member = r.oid) AS memberships
         FROM pg_roles r WHERE rolname = current_user`,
      ),
    ).toEqual([
      {
        rolsuper: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolreplication: false,
        rolbypassrls: false,
        memberships: 0,
      },
    ]);
    for (const statement of [
      `CREATE TEMPORARY TABLE got (line text); COPY got FROM PROGRAM 'id'`,
      `SELECT pg_read_file('postgresql.conf')`,
      `SELECT rolpassword FROM pg_authid`,
    ]) {
      await expect(query(embedded.url, statement)).rejects.toThrow('permission denied');
    }
    await embedded.close();
  });
});

test.each([
  ['a role that may not log in', 'ALTER ROLE company_directory NOLOGIN'],
  ['neither database nor role', 'DROP DATABASE company_directory WITH (FORCE); DROP ROLE company_directory'],
])('cut short in the middle of the first start: %s is repaired at the next one', async (_, statements) => {
  const before = await openEmbeddedPostgres(dataDir);
  for (const statement of statements.split('; ')) {
    await query(superuserUrl(dataDir, 'postgres'), statement);
  }
  await before.close();
  const after = await openEmbeddedPostgres(dataDir);
  const owner = 'SELECT datdba::regrole::text AS owner FROM pg_database WHERE datname = current_database()';
  expect(await query(after.url, owner)).toEqual([{ owner: 'company_directory' }]);
  await after.close();
});
