import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '../../src/postgres/embedded/embedded.ts';
import { csv } from '../directory/support.ts';
import { runCommand } from '../support/command.ts';
import { disposeSeed, layUsedDataDir, query, superuserUrl, temporaryDirectory } from './embedded-support.ts';

// Real servers that start and stop, on a machine that may be busy. Bun keeps this per file.
setDefaultTimeout(60_000);

let directory: ReturnType<typeof temporaryDirectory>;
let dataDir: string;

beforeEach(async () => {
  directory = temporaryDirectory('role');
  dataDir = join(directory.path, 'data');
  await layUsedDataDir(dataDir);
});
afterEach(() => directory.dispose());
afterAll(disposeSeed);

const command = async (env: Record<string, string>, ...words: string[]) => {
  const { code, json, stderr } = await runCommand(env, ...words, '--json');
  expect([words, code, code === 0 ? '' : stderr]).toEqual([words, 0, '']);
  return json;
};

/** Runs statements as the superuser, while Postgres runs. */
async function asSuperuser(database: string, statements: string): Promise<void> {
  const embedded = await openEmbeddedPostgres(dataDir);
  await query(superuserUrl(dataDir, database), statements);
  await embedded.close();
}

/** Who owns what in the service's database, but for Postgres's own objects. */
async function owners(): Promise<string[]> {
  const embedded = await openEmbeddedPostgres(dataDir);
  const rows = await query<{ owner: string }>(
    embedded.url,
    `SELECT DISTINCT owner::regrole::text AS owner FROM (
       SELECT relowner, relnamespace FROM pg_class UNION ALL SELECT proowner, pronamespace FROM pg_proc
       UNION ALL SELECT typowner, typnamespace FROM pg_type
     ) objects (owner, namespace)
     WHERE namespace::regnamespace::text !~ '^(pg_|information_schema)'
     UNION SELECT datdba::regrole::text FROM pg_database WHERE datname = current_database()`,
  );
  await embedded.close();
  return rows.map((row) => row.owner);
}

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

describe('a data directory of the version that worked as superuser', () => {
  test('keeps its data, goes to the role, and everything works', async () => {
    const embedded = await openEmbeddedPostgres(dataDir);
    await query(superuserUrl(dataDir, 'postgres'), 'DROP DATABASE company_directory WITH (FORCE)');
    await query(superuserUrl(dataDir, 'postgres'), 'DROP ROLE company_directory');
    await query(superuserUrl(dataDir, 'postgres'), 'CREATE DATABASE company_directory');
    const before = { DATABASE_URL: superuserUrl(dataDir), DATA_DIR: directory.path };
    const file = join(directory.path, 'companies.csv');
    await Bun.write(file, csv(1, 30));
    await command(before, 'companies', 'import', file);
    const { id } = await command(before, 'account', 'create', '--name', 'Old');
    await command(before, 'key', 'create', id);
    await embedded.close();
    rmSync(join(dataDir, 'postgres', 'service-password'));

    const now = { DATA_DIR: dataDir };
    expect(await command(now, 'account', 'show', id)).toMatchObject({ name: 'Old', keys: 1 });
    expect(await owners()).toEqual(['company_directory']);
    expect(await command(now, 'index', 'status')).toMatchObject({ documents: 29 });
    await Bun.write(file, csv(1, 40));
    expect(await command(now, 'companies', 'import', file, '--replace')).toMatchObject({ imported: 10 });
    await command(now, 'index', 'rollback');
    expect(await command(now, 'index', 'status')).toMatchObject({ documents: 29 });
    await command(now, 'account', 'credits', id, '--add', '5');
    // The version before still works as superuser, on what it finds.
    const again = await openEmbeddedPostgres(dataDir);
    expect(await command({ ...before, DATABASE_URL: superuserUrl(dataDir) }, 'account', 'list')).toHaveLength(
      1,
    );
    await again.close();
  });

  test.each([
    ['a role without its password', 'postgres', `ALTER ROLE company_directory PASSWORD 'another'`],
    ['a role that may not log in', 'postgres', 'ALTER ROLE company_directory NOLOGIN'],
    ['a role that is a superuser', 'postgres', 'ALTER ROLE company_directory SUPERUSER'],
    ["the superuser's database", 'postgres', 'ALTER DATABASE company_directory OWNER TO postgres'],
    [
      "the superuser's tables and everything else",
      'company_directory',
      `CREATE TABLE late_table (id serial PRIMARY KEY);
       CREATE VIEW late_view AS SELECT 1 AS n;
       CREATE MATERIALIZED VIEW late_rows AS SELECT 1 AS n;
       CREATE SEQUENCE late_sequence;
       CREATE TYPE late_type AS (n int);
       CREATE TYPE late_enum AS ENUM ('a');
       CREATE DOMAIN late_domain AS text;
       CREATE FUNCTION late_function(int) RETURNS int RETURN 1;
       CREATE SCHEMA "Late";
       CREATE TABLE "Late"."T" (id int GENERATED ALWAYS AS IDENTITY)`,
    ],
  ])(
    'cut short, or used by the version before: %s is repaired at the next start',
    async (_, database, statements) => {
      await asSuperuser(database, statements);
      expect(await owners()).toEqual(['company_directory']);
      const embedded = await openEmbeddedPostgres(dataDir);
      const role = 'SELECT rolsuper FROM pg_roles WHERE rolname = current_user';
      expect(await query(embedded.url, role)).toEqual([{ rolsuper: false }]);
      await embedded.close();
    },
  );
});
