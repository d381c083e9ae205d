/** The role that deploy/postgres-role.sql makes, and that the service needs no more than it. */
import { afterAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { call } from '../../support/client.ts';
import { createCommandLine, ROOT } from '../../support/command.ts';
import { createEmptyDatabase, postgresUrl } from '../../support/database.ts';
import { createFolder } from '../../support/folder.ts';
import { startInProcess } from '../../support/service.ts';

const role = `directory_role_${randomBytes(4).toString('hex')}`;
const passwordFile = `/tmp/${role}`;

const database = await createEmptyDatabase('ordinary_role');
/** The superuser, in the database. */
const superuser = connectPostgres(database.url, { max: 1 });

/** Runs the script as the image of Postgres does, for a role and a password file of the test's own. */
async function runScript(password: string): Promise<string> {
  // The server reads the file, wherever it runs: it writes it, too.
  await superuser.unsafe(`COPY (SELECT '${password.replaceAll("'", "''")}') TO '${passwordFile}'`);
  const script = await Bun.file(join(ROOT, 'deploy/postgres-role.sql')).text();
  await superuser.unsafe(
    script.replaceAll('/run/secrets/database-password', passwordFile).replace(/\bdirectory\b/g, role),
  );
  const url = new URL(database.url);
  url.username = role;
  url.password = encodeURIComponent(password);
  return url.href;
}

let url = await runScript('first-password');
const folder = createFolder('ordinary-role');
afterAll(async () => {
  // A program that ends before it has read its input fails the statement.
  await superuser.unsafe(`COPY (SELECT 1) TO PROGRAM 'cat >/dev/null; rm ${passwordFile}'`);
  await superuser.end({ timeout: 5 });
  await database.drop();
  const administrator = connectPostgres(postgresUrl, { max: 1 });
  await administrator.unsafe(`DROP ROLE ${role}`);
  await administrator.end({ timeout: 5 });
});

test('the role owns its database and is nothing more', async () => {
  const [attributes] = await superuser`
    SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolcanlogin
    FROM pg_roles WHERE rolname = ${role}`;
  const rights = Object.entries(attributes!).filter(([, hasRight]) => hasRight !== false);
  expect(rights).toEqual([['rolcanlogin', true]]);
  const [owner] = await superuser`
    SELECT pg_get_userbyid(datdba) AS name FROM pg_database WHERE datname = current_database()`;
  expect(owner!.name).toBe(role);
});

test('the script runs again, and the password is then the one in the file', async () => {
  const changed = await runScript("se'cond %L");
  for (const [address, works] of [
    [changed, true],
    [url, false],
  ] as const) {
    const sql = connectPostgres(address, { max: 1 });
    const answer = await sql`SELECT current_user AS name`.catch((error) => error.code);
    expect(works ? answer[0].name : answer).toBe(works ? role : '28P01');
    await sql.end({ timeout: 5 });
  }
  url = await runScript('first-password');
});

test('migrations, imports, rebuild, rollback and requests need no superuser', async () => {
  const env: Record<string, string> = {
    DATABASE_URL: url,
    REGISTRY: 'none',
    NIF_PT_URL: 'http://127.0.0.1:9/',
    AUTH_SECRET: 'x'.repeat(40),
    PORT: '0',
  };
  const { json } = createCommandLine(url, env);
  await json('migrate');
  const examples = join(ROOT, 'examples/companies.csv');
  expect(await json('companies', 'import', examples, '--replace')).toMatchObject({ read: 620 });
  expect(await json('index', 'rebuild')).toMatchObject({ documents: 620 });
  const debts = join(folder, 'tax.csv');
  await Bun.write(debts, 'nif,start,end\n500845115,5000,25000\n');
  const dataset = ['--kind', 'tax', '--date', '2026-10-31'];
  expect(await json('debts', 'import', debts, ...dataset)).toMatchObject({ imported: 1 });
  const account = await json('account', 'create', '--name', 'Padaria');
  const { secret } = await json('key', 'create', account.id);

  await using service = await startInProcess(env);
  const found = await call(service.url, '/companies?q=padaria', { key: secret });
  expect([found.status, found.body.data[0].legal_name]).toEqual([200, 'PADARIA DE DUME']);
  expect((await call(service.url, '/companies/500845115', { key: secret })).status).toBe(502);
  const usage = await call(service.url, '/usage', { key: secret });
  expect(usage.body.data.quotas.requests.used).toBe(2);
  await json('index', 'rollback');
});
