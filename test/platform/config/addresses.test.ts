/** The addresses of the stores: the parameters of libpq, and TLS. */
import { expect, test } from 'bun:test';
import { readConfig } from '../../../src/platform/config/config.ts';
import { ConfigError } from '../../../src/platform/config/environment.ts';
import { certificateFault } from '../../../src/platform/config/tls.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { transportWarnings } from '../../../src/service/warnings.ts';
import { runCommand } from '../../support/command.ts';

const address = (query: string) =>
  readConfig({ DATABASE_URL: `postgres://u:secret@db.example/x?${query}` }).databaseUrl!;

/** The manual of Postgres 18, "Parameter Key Words", in its order. */
const OF_LIBPQ =
  `host hostaddr port dbname user password passfile require_auth channel_binding connect_timeout client_encoding options
  application_name fallback_application_name keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout
  replication gssencmode sslmode sslnegotiation sslcompression sslcert sslkey sslkeylogfile sslpassword sslcertmode sslrootcert sslcrl
  sslcrldir sslsni requirepeer ssl_min_protocol_version ssl_max_protocol_version min_protocol_version max_protocol_version krbsrvname
  gsslib gssdelegation scram_client_key scram_server_key service servicefile target_session_attrs load_balance_hosts
  oauth_issuer oauth_client_id oauth_client_secret oauth_scope`.split(/\s+/);

const parameters = (text: string) => Object.fromEntries(new URLSearchParams(text.split(/\s+/).join('&')));

/** Values with which the service does what libpq would do. */
const HONOURED = parameters(
  `application_name=reports options=-c+geqo%3Doff sslmode=verify-full sslnegotiation=direct target_session_attrs=primary`,
);
/** Values that ask for nothing that the service lacks. */
const DROPPED = parameters(
  `require_auth=scram-sha-256 channel_binding=require connect_timeout=10 client_encoding=auto fallback_application_name=psql
  keepalives=1 keepalives_idle=30 keepalives_interval=10 keepalives_count=3 tcp_user_timeout=1000 replication=false
  gssencmode=prefer sslcompression=0 sslkeylogfile=/tmp/keys sslcertmode=allow sslrootcert=system sslsni=1
  ssl_min_protocol_version=TLSv1.2 ssl_max_protocol_version=TLSv1.3 min_protocol_version=3.0 max_protocol_version=latest
  gssdelegation=0 load_balance_hosts=random`,
);

test('each parameter of libpq is honoured, dropped, or refused by its name, and never sent as a setting', () => {
  for (const parameter of [...OF_LIBPQ, 'connection_limit', 'pool_timeout']) {
    const value = HONOURED[parameter] ?? DROPPED[parameter];
    const query = new URLSearchParams({ sslmode: 'verify-full', [parameter]: value ?? 'true' }).toString();
    if (parameter in HONOURED) {
      expect(new URL(address(query)).searchParams.get(parameter)).toBe(value!);
    } else if (parameter in DROPPED || ['connection_limit', 'pool_timeout'].includes(parameter)) {
      expect(address(query)).toBe('postgres://u:secret@db.example/x?sslmode=verify-full');
    } else {
      expect(() => address(query)).toThrow(
        new RegExp(`^DATABASE_URL has ${parameter}, which is not supported: (?!.*secret)`),
      );
    }
  }
});

test('what postgres.js would send to the server as a setting is only what is one', () => {
  const all = { ...DROPPED, ...HONOURED };
  const settings = (url: string) => Object.keys(connectPostgres(url).options.connection);
  const own = settings('postgres://u:secret@db.example/x');
  const query = new URLSearchParams(all).toString();
  expect(settings(address(query)).filter((name) => !own.includes(name))).toEqual(['options']);
});

const DEMANDS = ['channel_binding=require', 'require_auth=scram-sha-256'];
const UNPROVEN = ['', 'sslmode=require&', 'sslmode=disable&', 'sslmode=verify-full&sslmode=require&'];
const MORE = `sslcertmode=require ssl_min_protocol_version=TLSv1.3 min_protocol_version=3.2 gssencmode=require
  replication=database pgbouncer=true ssl=true search_path=a __proto__=a`.split(/\s+/);

test.each([
  // Only a proven server meets these.
  ...DEMANDS.map((demand) => [`sslmode=verify-full&${demand}`, 'sslmode=verify-full'] as const),
  ...DEMANDS.flatMap((demand) =>
    UNPROVEN.map((mode) => [mode + demand, /: set sslmode=verify-full, which proves the server/] as const),
  ),
  // The system's authorities without a mode mean verify-full, as in libpq.
  ['sslrootcert=system', 'sslmode=verify-full'],
  ['sslmode=require&sslrootcert=system', /NODE_EXTRA_CA_CERTS/],
  ['sslmode=verify-full&sslrootcert=/ca.pem', /NODE_EXTRA_CA_CERTS/],
  // These ask for more than the service does.
  ...MORE.map((query) => {
    const [parameter] = query.split('=');
    return [query, new RegExp(`^DATABASE_URL has ${parameter}, which is not supported: `)] as const;
  }),
  // As providers print them.
  ['sslmode=verify-full&channel_binding=require', 'sslmode=verify-full'],
  ['sslmode=require&channel_binding=prefer&connect_timeout=10', 'sslmode=require'],
  ['pgbouncer=false&connection_limit=5&sslmode=require&target_session_attrs=any', 'sslmode=require'],
  ['sslmode=require&target_session_attrs=read-write', 'sslmode=require'],
  ['application_name=directory&keepalives=1', 'application_name=directory'],
  ['gssencmode=disable', ''],
] as [string, string | RegExp][])('an address with %s is used with, or refused by, %p', (query, outcome) => {
  if (outcome instanceof RegExp) expect(() => address(query)).toThrow(outcome);
  else expect(address(query)).toBe(`postgres://u:secret@db.example/x${outcome && `?${outcome}`}`);
});

test('a password with a question mark is refused without a part of it', () => {
  for (const password of ['a?b=c', '1?secret', '1?secret=2']) {
    try {
      readConfig({ DATABASE_URL: `postgres://u:${password}@h/x` });
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as Error).message).not.toContain('secret');
    }
  }
});

test('an sslmode that may end in plain text, or that is not known, is refused', () => {
  const unsafe = ['prefer', 'allow', 'verify-ca', 'verify-full&sslmode=prefer'];
  for (const mode of [...unsafe, 'true', 'Verify-Full', '']) {
    expect(() => address(`sslmode=${mode}`)).toThrow(
      new ConfigError('DATABASE_URL must have one of sslmode=disable, require, verify-full, or no sslmode'),
    );
  }
  for (const mode of ['disable', 'require', 'verify-full']) {
    expect(address(`sslmode=${mode}&sslnegotiation=direct`)).toContain(mode);
  }
});

test('checks of certificates that are turned off are refused', () => {
  expect(() => readConfig({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toThrow(/accepts every certificate/);
  expect(readConfig({ NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toBeObject();
});

test('a NODE_EXTRA_CA_CERTS that is not in force ends a command with exit code 2', async () => {
  const { code, stderr } = await runCommand({ NODE_EXTRA_CA_CERTS: '/nowhere/ca.pem' }, 'migrate');
  expect(code).toBe(2);
  // Bun has its own line about the file before that.
  expect(stderr).toEndWith(
    'error: NODE_EXTRA_CA_CERTS must name a readable file of PEM certificates, in the environment of the process (not in .env)\n',
  );
});

test('only what goes to another machine in plain text, or unverified, is warned of', () => {
  const warnings = (env: Record<string, string>) => [...transportWarnings(readConfig(env))];
  expect(warnings({})).toEqual([]);
  const addresses = (host: string, isSecure: boolean) => ({
    DATABASE_URL: `postgres://u:secret@${host}/x${isSecure ? '?sslmode=verify-full' : ''}`,
    REDIS_URL: `${isSecure ? 'rediss' : 'redis'}://:secret@${host}`,
    ELASTICSEARCH_URL: `${isSecure ? 'https' : 'http'}://${host}:9200`,
    NIF_PT_URL: `${isSecure ? 'https' : 'http'}://${host}/`,
  });
  for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '[::1]', 'postgres'])
    expect(warnings(addresses(host, false))).toEqual([]);
  for (const host of ['10.0.0.5', '[fd00::1]', 'db.example.com']) {
    expect(warnings(addresses(host, true))).toEqual([]);
    expect(warnings(addresses(host, false))).toEqual([
      'DATABASE_URL is spoken to in plain text: add sslmode=verify-full',
      'REDIS_URL is spoken to in plain text: use rediss:',
      'ELASTICSEARCH_URL is spoken to in plain text: use https:',
      'NIF_PT_URL is spoken to in plain text: use https:',
    ]);
  }
  // One of several is enough.
  expect(
    warnings({
      DATABASE_URL: 'postgres://u:secret@localhost,db.example/x',
      ELASTICSEARCH_URL: 'https://a.example,http://b.example',
    }),
  ).toEqual([
    'DATABASE_URL is spoken to in plain text: add sslmode=verify-full',
    'ELASTICSEARCH_URL is spoken to in plain text: use https:',
  ]);
  expect(warnings({ DATABASE_URL: 'postgres://u:secret@db.example/x?sslmode=require' })).toEqual([
    'DATABASE_URL has sslmode=require, which encrypts but accepts any certificate: use sslmode=verify-full',
  ]);
});

test('an error that is not about a certificate is none of its faults', () => {
  for (const error of [null, undefined, 'text', new Error('away'), { code: 'toString' }, { code: 1 }]) {
    expect(certificateFault(error)).toBeNull();
  }
});
