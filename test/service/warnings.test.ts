/** What a start says and opens: its warnings, and its connections to Postgres (docs/operating.md: several instances). */
import { expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { DEFAULT_NIF_PT_URL, defaultPublicUrl, readConfig } from '../../src/platform/config/config.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import * as connecting from '../../src/platform/postgres/connect.ts';
import { startWarnings, warnOfSuperuser } from '../../src/service/warnings.ts';
import { ROOT } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { startTestService } from '../support/service.ts';

/** The variables that a start with this environment warns about. */
function warned(env: Record<string, string>): string[] {
  const config = readConfig(env);
  const publicUrl = config.publicUrl ?? defaultPublicUrl(config.host, config.port);
  return [...startWarnings(config, publicUrl)].map((warning) => /^[A-Z_]+/.exec(warning)![0]);
}

const HTTPS = { PUBLIC_URL: 'https://api.example.pt', METRICS_TOKEN: 'token' };

const PROXIED = { TRUST_PROXY: '10.0.0.1' };

const EVERY_ADDRESS = { HOST: '0.0.0.0', PUBLIC_URL: 'http://localhost:3000' };

test.each<[env: Record<string, string>, warnings: string[]]>([
  // A loopback address.
  [{ SIGN_UP: 'open' }, []],
  [{ SIGN_UP: 'open', HOST: 'localhost' }, []],
  [{ SIGN_UP: 'open', HOST: '::1' }, []],
  [{ SIGN_UP: 'open', PUBLIC_URL: 'http://127.1.2.3:8080/directory' }, []],
  // Open sign-up without mail on a public address.
  [{ ...HTTPS, ...PROXIED }, []],
  [{ ...HTTPS, ...PROXIED, SIGN_UP: 'open' }, ['SIGN_UP']],
  [{ ...HTTPS, ...PROXIED, SIGN_UP: 'open', SMTP_URL: 'smtp://mail.example.pt' }, []],
  [{ ...EVERY_ADDRESS, ...PROXIED, SIGN_UP: 'open' }, ['SIGN_UP']],
  // A public address without a proxy, and a proxy without a token of the metrics.
  [HTTPS, ['TRUST_PROXY']],
  [{ ...EVERY_ADDRESS, HOST: '192.0.2.1' }, ['TRUST_PROXY']],
  [{ ...HTTPS, ...PROXIED, METRICS_TOKEN: '' }, ['METRICS_TOKEN']],
  [{ ...EVERY_ADDRESS, ...PROXIED }, []],
  // HTTP, unless the address is a loopback one.
  [{ PUBLIC_URL: 'http://api.example.pt', ...PROXIED }, ['PUBLIC_URL']],
  [{ HOST: '0.0.0.0', ...PROXIED }, ['PUBLIC_URL']],
  [{ HOST: '0.0.0.0', PUBLIC_URL: 'http://[::1]:3000', ...PROXIED }, []],
])('a start with %j warns about %j', (env, warnings) => {
  expect(warned(env)).toEqual(warnings);
});

/** The tests' role is a superuser, and they have no key of nif.pt. */
const WARNED_ABOUT = ['NIF_PT_KEY', 'SIGN_UP', 'TRUST_PROXY', 'DATABASE_URL'];

test('the log of a start has each warning once, and the service starts', async () => {
  await using service = await startTestService({
    env: { ...HTTPS, SIGN_UP: 'open', AUTH_SECRET: 'x'.repeat(40), NIF_PT_URL: DEFAULT_NIF_PT_URL },
  });
  const warnings = service.logLines.filter(
    ({ level, msg }) => level === 40 && /^[A-Z_]+ (is|names)/.test(msg),
  );
  expect(warnings.map(({ msg }) => msg.split(' ')[0])).toEqual(WARNED_ABOUT);
  expect((await fetch(`${service.baseUrl}/health/live`)).status).toBe(200);
});

test('a start as a superuser of Postgres is warned about, and one as another role is not', async () => {
  await using database = await createTestDatabase('role');
  const role = `plain_${crypto.randomUUID()}`;
  const warned: unknown[] = [];
  const log = { warn: (line: unknown) => void warned.push(line) };
  await database.sql.begin(async (sql) => {
    await warnOfSuperuser(sql as unknown as Sql, log);
    expect(warned).toEqual([expect.stringMatching(/^DATABASE_URL names a superuser: /)]);
    await sql.unsafe(`CREATE ROLE "${role}"`);
    await sql.unsafe(`SET LOCAL ROLE "${role}"`);
    await warnOfSuperuser(sql as unknown as Sql, log);
    await sql.unsafe('RESET ROLE');
    await sql.unsafe(`DROP ROLE "${role}"`);
  });
  expect(warned).toHaveLength(1);
});

test('an instance that searches in Postgres holds as many connections as the documents say', async () => {
  using connect = spyOn(connecting, 'connectPostgres');
  await using service = await startTestService();
  // A pool is opened again when its server has changed, and once more for `LISTEN`.
  const pools = new Map(
    connect.mock.calls
      .map(([, options = {}]) => options)
      .filter(({ applicationName = '' }) => /^company-directory (serve|canary)$/.test(applicationName))
      .map((options) => [JSON.stringify(options), options.max!]),
  );
  const [{ listening } = { listening: 0 }] = await service.sql<{ listening: number }[]>`
    SELECT count(*) AS listening FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen %'`;
  const held = [...pools.values()].reduce((sum, max) => sum + max, listening);
  const text = await Bun.file(join(ROOT, 'docs/operating.md')).text();
  expect(text).toContain(`Each holds up to ${held} connections to Postgres`);
});
