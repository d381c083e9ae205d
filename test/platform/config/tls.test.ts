import { expect, test } from 'bun:test';
import { readConfig } from '../../../src/platform/config/config.ts';
import { ConfigError } from '../../../src/platform/config/environment.ts';
import { certificateFault } from '../../../src/platform/config/tls.ts';
import { transportWarnings } from '../../../src/service/warnings.ts';
import { runCommand } from '../../support/command.ts';

const postgres = (query: string) => () =>
  readConfig({ DATABASE_URL: `postgres://u:secret@db.example/x?${query}` });

test('an sslmode that may end in plain text, or that is not known, is refused', () => {
  for (const mode of [
    'prefer',
    'allow',
    'verify-ca',
    'true',
    'Verify-Full',
    '',
    'verify-full&sslmode=prefer',
  ]) {
    expect(postgres(`sslmode=${mode}`)).toThrow(
      new ConfigError('DATABASE_URL must have one of sslmode=disable, require, verify-full, or no sslmode'),
    );
  }
  for (const mode of ['disable', 'require', 'verify-full']) {
    expect(postgres(`sslmode=${mode}&sslnegotiation=direct`)().databaseUrl).toContain(mode);
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
  const warnings = (env: Record<string, string>) => transportWarnings(readConfig(env));
  expect(warnings({})).toEqual([]);
  for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '[::1]', 'postgres']) {
    const env = { DATABASE_URL: `postgres://u:secret@${host}/x`, REDIS_URL: `redis://${host}` };
    expect(
      warnings({ ...env, ELASTICSEARCH_URL: `http://${host}:9200`, VIES_URL: `http://${host}` }),
    ).toEqual([]);
  }
  for (const host of ['10.0.0.5', '[fd00::1]', 'db.example.com']) {
    const secure = {
      DATABASE_URL: `postgres://u:secret@${host}/x?sslmode=verify-full`,
      REDIS_URL: `rediss://${host}`,
    };
    expect(warnings({ ...secure, ELASTICSEARCH_URL: `https://${host}` })).toEqual([]);
    const plain = { DATABASE_URL: `postgres://u:secret@${host}/x`, REDIS_URL: `redis://:secret@${host}` };
    expect(
      warnings({ ...plain, ELASTICSEARCH_URL: `http://${host}`, NIF_PT_URL: `http://${host}/` }),
    ).toEqual([
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
