/** Connections to the dependencies by TLS, with certificates of an authority of the test's own. */
import { afterAll, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { withTimeout } from '../../src/platform/runtime/timeout.ts';
import { type Authority, type Certificate, createAuthority } from '../support/certificates.ts';
import { call } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { csv, nif } from '../support/companies.ts';
import { postgresUrl } from '../support/database.ts';
import { elasticsearchUrl } from '../support/elasticsearch.ts';
import { createFolder } from '../support/folder.ts';
import { nifPtFound, startProvider } from '../support/provider.ts';
import { redisUrl } from '../support/redis.ts';
import { createTestIndexAlias } from '../support/search-index.ts';
import { startSecurePostgres, startTlsProxy } from '../support/secure-servers.ts';
import { createCaller, type ServiceProcess, spawnService } from '../support/service.ts';
import { until } from '../support/until.ts';

const HOSTS = ['localhost', '127.0.0.1'];
const UNTRUSTED = 'no authority that is trusted here has signed its certificate';
/** The fault of a certificate, and the message for the operator. */
const WRONG: [string, (ours: Authority, others: Authority) => Certificate, string][] = [
  ['of another authority', (_, others) => others.issue(HOSTS), UNTRUSTED],
  ['for another host', (ours) => ours.issue(['db.example']), 'its certificate is for another host name'],
  ['that has expired', (ours) => ours.issue(HOSTS, { expired: true }), 'its certificate has expired'],
];

const authority = createAuthority('Authority of the test');
const others = createAuthority('Authority of others');
const index = createTestIndexAlias();
const closing: (() => unknown)[] = [];

const folder = createFolder('tls');
await Bun.write(join(folder, 'ca.pem'), authority.cert);
const good = authority.issue(HOSTS);
const postgres = await startSecurePostgres(good);
const provider = await startProvider();
provider.answerAll((number) => nifPtFound(number));
const sql = connectPostgres(`${postgres.url}?sslmode=require`, { max: 2, applicationName: 'test' });
/** By TLS alone and verified, whatever is in it. */
const env = {
  NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
  DATABASE_URL: `${postgres.url}?sslmode=verify-full`,
  ELASTICSEARCH_PREFIX: index.alias,
  REGISTRY: 'none',
  DATA_DIR: folder,
  AUTH_SECRET: 'a-secret-of-this-test-32-characters',
  ...(await startOthers(good)),
};
afterAll(async () => {
  await sql.end({ timeout: 5 });
  for (const close of closing) await close();
  await provider.close();
  await index.cleanup();
  await postgres.stop();
});

/** Redis, Elasticsearch and nif.pt with one certificate. */
async function startOthers(certificate: Certificate): Promise<Record<string, string>> {
  const redis = await startTlsProxy(certificate, redisUrl);
  const elasticsearch = await startTlsProxy(certificate, elasticsearchUrl);
  const nifPt = await startTlsProxy(certificate, provider.url);
  closing.push(redis.close, elasticsearch.close, nifPt.close);
  return {
    REDIS_URL: `rediss://${redisUrl.replace(/^redis:\/\/|[^@]*$/g, '')}127.0.0.1:${redis.port}`,
    ELASTICSEARCH_URL: `https://localhost:${elasticsearch.port}`,
    NIF_PT_URL: `https://127.0.0.1:${nifPt.port}/`,
  };
}

/** Level and text of the lines that are no requests. */
const said = ({ logLines }: ServiceProcess) => logLines.map(({ level, msg }) => `${level} ${msg}`);

async function readiness({ baseUrl }: ServiceProcess) {
  const answer = await fetch(`${baseUrl}/health/ready`);
  const { dependencies } = (await answer.json()) as { dependencies: Record<string, { status: string }> };
  return {
    status: answer.status,
    postgres: dependencies.postgres!.status,
    redis: dependencies.redis!.status,
  };
}

test('with verified TLS to every dependency the service serves, and the commands work', async () => {
  await Bun.write(join(folder, 'companies.csv'), csv(1, 4));
  const imported = await runCommand(env, 'companies', 'import', join(folder, 'companies.csv'), '--json');
  expect(imported).toMatchObject({ code: 0, json: { imported: 3 } });
  await using service = await spawnService(env);
  const { key } = await createCaller(sql);
  expect((await call(service.url, '/companies?q=empresa', { key })).body.data).toHaveLength(3);
  expect((await call(service.url, `/companies/${nif(1)}`, { key })).status).toBe(200);
  expect(provider.lookups()).toHaveLength(1);
  expect(await readiness(service)).toEqual({ status: 200, postgres: 'up', redis: 'up' });
  const connections = await sql<{ ssl: boolean }[]>`
    SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
    WHERE application_name LIKE 'company-directory%'`;
  expect([...connections]).toEqual([{ ssl: true }]);
  // The tests' own role is one.
  expect(said(service).filter((line) => !line.startsWith('30 '))).toEqual([
    expect.stringContaining('DATABASE_URL names a superuser'),
  ]);
});

test.each(WRONG)(
  'a certificate %s of Postgres ends the start with a line that names the variable and the cause',
  async (_, issue, fault) => {
    await postgres.use(issue(authority, others));
    const { code, stderr } = await runCommand(env, 'serve');
    await postgres.use(authority.issue(HOSTS));
    expect(stderr).toMatch(/^error: Postgres can't be reached: [^\n]+: check DATABASE_URL and the server\n$/);
    expect(stderr).toContain(fault);
    expect(code).toBe(1);
  },
);

// The message about a certificate is the same for all.
test.each(WRONG.slice(0, 2))(
  'a certificate %s of the others: Redis and Elasticsearch are named in the log, and a lookup is 502',
  async (_, issue, fault) => {
    const wrong = await startOthers(issue(authority, others));
    await using service = await spawnService({ ...env, ...wrong });
    const { key } = await createCaller(sql);
    const asked = provider.requests.length;
    expect((await call(service.url, `/companies/${nif(2)}`, { key })).kind).toBe('company-lookup-failed');
    const { kind } = await call(service.url, '/companies?q=empresa', { key });
    expect(kind).toMatch(/^(search-failed|service-unavailable)$/);
    expect(await readiness(service)).toEqual({ status: 503, postgres: 'up', redis: 'down' });
    expect(provider.requests).toHaveLength(asked);
    const logged = (...parts: string[]) =>
      until(`a line with ${parts}`, () =>
        service.logLines.some((line) => parts.every((part) => JSON.stringify(line).includes(part))),
      );
    await logged('Redis is not used', fault, 'check REDIS_URL');
    await logged('the directory needs attention: check ELASTICSEARCH_URL', fault);
    await logged('a source failed', '"reason":"certificate"');
    const { code, stderr } = await runCommand({ ...env, ...wrong }, 'index', 'status');
    expect(stderr).toMatch(/^warning: [^\n]+: check ELASTICSEARCH_URL and the server\n$/);
    expect(code).toBe(0);
  },
);

test('sslmode=require encrypts, whatever the certificate is', async () => {
  await postgres.use(others.issue(['db.example']));
  const pool = connectPostgres(`${postgres.url}?sslmode=require`, { max: 1 });
  const [row] = await pool<{ ssl: boolean }[]>`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`;
  expect(row).toEqual({ ssl: true });
  await pool.end({ timeout: 5 });
  await postgres.use(authority.issue(HOSTS));
});

/** A server that hears everything, and answers the first bytes: whether it speaks TLS. */
async function startServer(answer: 'S' | 'N') {
  const heard: Uint8Array[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      if (heard.push(Buffer.from(bytes)) === 1) socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { heard, port, close: () => new Promise((resolve) => server.close(resolve)) };
}

describe.each(['require', 'verify-full'])('sslmode=%s', (mode) => {
  test('a Postgres without TLS ends the start with a line that says so', async () => {
    const url = new URL(postgresUrl);
    url.searchParams.set('sslmode', mode);
    const { code, stderr } = await runCommand({ ...env, DATABASE_URL: url.href }, 'serve');
    expect(stderr).toBe(
      "error: Postgres can't be reached: it ended the connection instead of speaking TLS: check DATABASE_URL and the server\n",
    );
    expect(code).toBe(1);
  });

  test('a server that is silent once TLS has begun is named', async () => {
    const { port, close } = await startServer('S');
    const DATABASE_URL = `postgres://user@127.0.0.1:${port}/directory?sslmode=${mode}`;
    const { code, stderr } = await runCommand({ ...env, DATABASE_URL }, 'serve');
    expect(stderr).toBe(
      `error: Postgres can't be reached: no answer from 127.0.0.1:${port}: check DATABASE_URL and the server\n`,
    );
    expect(code).toBe(1);
    await close();
  });

  test('a server that denies TLS is told nothing in plain text', async () => {
    const { heard, port, close } = await startServer('N');
    const pool = connectPostgres(`postgres://maria:secret@127.0.0.1:${port}/books?sslmode=${mode}`, {
      max: 1,
    });
    await expect(withTimeout(pool`SELECT 1`, 5000, 'Postgres')).rejects.toThrow('CONNECT_TIMEOUT');
    await pool.end({ timeout: 1 });
    await close();
    const [request, ...rest] = heard;
    expect(Buffer.from(request!).toString('hex')).toBe('0000000804d2162f');
    // A TLS handshake, and nothing else: no name of a user or of a database.
    expect(Buffer.concat(rest).subarray(0, 2).toString('hex')).toBe('1603');
    expect(Buffer.concat(rest).toString('latin1')).not.toMatch(/maria|books/);
  });
});
