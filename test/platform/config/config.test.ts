import { describe, expect, test } from 'bun:test';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, readConfig, SETTINGS } from '../../../src/platform/config/config.ts';
import { ConfigError, checkEnvFile } from '../../../src/platform/config/environment.ts';
import { runCommand, runHere } from '../../support/command.ts';
import { createFolder } from '../../support/folder.ts';

type Environment = Record<string, string>;

/** The message with which the environment is refused; null when it is taken. */
function refusal(env: Environment): string | null {
  try {
    readConfig(env);
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
}

/** An address of a path that is appended to loses its last slash; `?json=1` is put right behind that of nif.pt. */
const READ: [name: string, given: string, member: keyof Config, read: unknown][] = [
  ['HOST', ' 0.0.0.0 ', 'host', '0.0.0.0'],
  ['PORT', ' 8080\n', 'port', 8080],
  ['PUBLIC_URL', 'https://api.example.pt/directory/', 'publicUrl', 'https://api.example.pt/directory'],
  ['DATABASE_URL', 'postgresql://u:p%25@db/x', 'databaseUrl', 'postgresql://u:p%25@db/x'],
  ['ELASTICSEARCH_URL', 'http://es:9200/', 'elasticsearchUrl', 'http://es:9200'],
  ['REDIS_URL', 'rediss://:p@redis:6379/2', 'redisUrl', 'rediss://:p@redis:6379/2'],
  ['DATA_DIR', '/var/lib/directory', 'dataDir', '/var/lib/directory'],
  ['NIF_PT_URL', 'http://mirror:8000/nif/', 'nifPtUrl', 'http://mirror:8000/nif/'],
  ['REGISTRY', 'einforma', 'registry', 'einforma'],
  ['VIES_URL', 'http://vies/rest/', 'viesUrl', 'http://vies/rest'],
  ['EINFORMA_URL', 'http://einforma/api/', 'einformaUrl', 'http://einforma/api'],
  ['PROVIDER_TIMEOUT_MS', '250', 'providerTimeoutMs', 250],
  ['RECORD_MAX_AGE_S', '0', 'recordMaxAgeS', 0],
  ['CONTACT', 'https://example.com/help', 'contact', 'https://example.com/help'],
  ['CONTACT', 'mailto:help@e.pt?subject=Credits', 'contact', 'mailto:help@e.pt?subject=Credits'],
  ['PRIVACY_URL', 'https://example.com/privacy#keys', 'privacyUrl', 'https://example.com/privacy#keys'],
  ['TERMS_URL', 'http://example.com/terms', 'termsUrl', 'http://example.com/terms'],
  ['STATUS_URL', 'https://status.example.com', 'statusUrl', 'https://status.example.com'],
  ['BUY_URL', 'https://example.com/{account}', 'buyUrl', 'https://example.com/{account}'],
];

test.each(READ)('%s=%j is read, white space around it apart', (name, given, member, read) => {
  const env = { EINFORMA_CLIENT_ID: 'id', EINFORMA_CLIENT_SECRET: 'secret', [name]: given };
  expect(readConfig(env)).toMatchObject({ [member]: read });
});

const words = (text: string) => text.split(/\s+/);

/** Values that make no sense, by variable. */
const BAD: Record<string, string[]> = {
  HOST: ['not a host', ...words('http://127.0.0.1 127.0.0.1:3000 [::1] a/b -x 999.999.999.999')],
  PORT: words('abc -1 65536 80.5 0x50 1e3 99999999999999999999'),
  PUBLIC_URL: [
    'https://e.pt/a b',
    ...words('example.pt ftp://example.pt http:example.pt http:// https://e.pt/?x=1 https://e.pt/#x'),
    ...words('https://u:p@e.pt https://e.pt}'),
  ],
  DATABASE_URL: [
    ...words(
      'mysql://db/x db postgres:db postgres://u@a postgres://u@a/ postgres://u@a:1,b:2?sslmode=require',
    ),
    ...words('postgres://u:50%@db/x postgres://u:p@h%zz/db postgres://u:p@%41/db postgres://u:1#x@db/x'),
    ...words('postgres://u@a:1,b:2x/db postgres://u@a:1,,b:2/db postgres://u@a:1,[::1]:2/db'),
    'postgres://u@a:1,b:2/db?target_session_attrs=prefer-standby',
    'postgres://u@a/db?target_session_attrs=standby',
  ],
  ELASTICSEARCH_URL: [
    ...words('es:9200 localhost redis://es http://es:9200?pretty http://es:9200/#x http://a:9200,b:9200'),
    ...words('http://a,b:9200 http://a:9200, http://a:9200,http://b:9200?pretty'),
    'http://u:p@a:9200,http://u:q@b:9200',
  ],
  ELASTICSEARCH_API_KEY: ['two\nlines', 'two words', 'k€y'],
  ELASTICSEARCH_PREFIX: ['Companies', '*', '_all', 'a b', '-a'],
  REDIS_URL: [
    ...words(
      'redis:///0 redis://:6379 http://redis redis redis:6379 redis://h/abc redis://h/1x redis://h/0/1',
    ),
    ...words('redis://h/-1 redis://h?db=abc redis://h%zz/0 redis://h/1#x redis://h1,h2:6379'),
    'redis://h1:6379,h2:6379',
  ],
  NIF_PT_URL: words('www.nif.pt file:///etc/passwd https: https://nif.example/?a=1 https://nif.example/#a'),
  NIF_PT_KEY: ['a\u0000b', 'a\r\nb'],
  REGISTRY: ['VIES', 'vies,einforma', 'off'],
  VIES_URL: words('vies javascript:alert(1) https://vies/rest? https://vies/rest#'),
  EINFORMA_URL: words('einforma ws://einforma https://einforma/v1?a=1 https://einforma/v1#a'),
  PROVIDER_TIMEOUT_MS: ['0', '-5', '5s', '1.5', '100001'],
  RECORD_MAX_AGE_S: ['-1', 'six days', '1e9', '99999999999'],
  METRICS_TOKEN: ['a\u0007', 'tök', 'two words'],
  CONTACT: words('help@example.com http://example.com mailto: mailto:x javascript:alert(1)'),
  TERMS_URL: ['javascript:alert(1)'],
  BUY_URL: words('http://example.com example.com https://'),
};

test('addresses of databases are taken in the forms that their clients know', () => {
  for (const value of [
    'redis://h',
    'redis://h/',
    'redis://h/0',
    'rediss://:p%23@h:6380/15',
    'redis://h?db=2',
  ]) {
    expect(readConfig({ REDIS_URL: value }).redisUrl).toBe(value);
  }
  for (const value of ['postgres://u:p%23@db:5433/x', 'postgresql://u@[::1]/x?sslmode=require']) {
    expect(readConfig({ DATABASE_URL: value }).databaseUrl).toBe(value);
  }
});

test('Elasticsearch and Postgres can have several addresses', () => {
  const nodes = 'https://u:p@a:9200/, HTTPS://u:p@b:9200/es/ ,https://u:p@a:9200';
  expect(readConfig({ ELASTICSEARCH_URL: nodes }).elasticsearchUrl).toBe(
    'https://u:p@a:9200,HTTPS://u:p@b:9200/es',
  );
  const database = (value: string) => readConfig({ DATABASE_URL: value }).databaseUrl;
  // Every port is written, and a connection to a standby is not used.
  expect(database('postgres://u:p%2C@a:1,b,c.example:3/x')).toBe(
    'postgres://u:p%2C@a:1,b:5432,c.example:3/x?target_session_attrs=primary',
  );
  const complete = 'postgres://u@a:1,b:2/x?sslmode=require&target_session_attrs=primary';
  expect(database(complete)).toBe(complete);
  for (const printed of ['', '&target_session_attrs=any', '&target_session_attrs=read-write']) {
    expect(database(`postgres://a:1,b:2/x?sslmode=require${printed}`)).toBe(
      'postgres://a:1,b:2/x?sslmode=require&target_session_attrs=primary',
    );
  }
});

test('a comma in the wrong place is refused by what is right', () => {
  for (const env of [
    { REDIS_URL: 'redis://h1,h2:6379' },
    { ELASTICSEARCH_URL: 'http://a:9200,b:9200' },
    { NIF_PT_URL: 'http://a:1,http://b:2' },
  ]) {
    expect(refusal(env)).toContain('commas stand between');
  }
});

describe('a value that makes no sense', () => {
  test('of an address says what it likely is', () => {
    const encoded = 'a #, ? or / in a user name or password is written as %23, %3F or %2F';
    for (const password of ['pa#ss', 'pa?ss', 'pa/ss']) {
      const message = refusal({ DATABASE_URL: `postgres://postgres:${password}@host:5432/db` });
      expect(message).toBe(`DATABASE_URL is no address: ${encoded}`);
    }
    for (const where of ['host:port', 'host:port/db', 'u:p@host:99999/db?sslmode=require']) {
      expect(refusal({ DATABASE_URL: `postgres://${where}` })).toContain('host name or port');
    }
    for (const where of ['/db', ':5432/db', 'u:p@/db?host=/run/postgresql', 'u:p@:5432/db']) {
      expect(refusal({ DATABASE_URL: `postgres://${where}` })).toBe(
        'DATABASE_URL is no address: it has no host',
      );
    }
  });

  for (const [name, values] of Object.entries(BAD)) {
    test(`of ${name} is refused in one line that names it`, () => {
      for (const value of values) {
        const message = refusal({ [name]: value });
        expect([value, message]).toEqual([value, expect.stringMatching(new RegExp(`^${name}\\b[^\\n]+$`))]);
      }
    });
  }

  test.each([
    ['CONTACT', 'http://example.com', 'CONTACT must be a mailto: or https: address'],
    ['BUY_URL', 'http://example.com', 'BUY_URL must be a https: address'],
  ])('of %s=%s says which would', (name, value, reason) => {
    expect(refusal({ [name]: value })).toStartWith(reason);
  });

  test('of a secret is not repeated', () => {
    for (const name of ['DATABASE_URL', 'REDIS_URL', 'ELASTICSEARCH_URL', 'NIF_PT_KEY', 'METRICS_TOKEN']) {
      expect(refusal({ [name]: 'hunter2\n:x' })).not.toContain('hunter2');
    }
  });

  test('einforma without its credentials names what is missing', () => {
    expect(refusal({ REGISTRY: 'einforma' })).toContain('EINFORMA_CLIENT_ID');
    expect(refusal({ REGISTRY: 'einforma', EINFORMA_CLIENT_ID: 'x' })).toContain('EINFORMA_CLIENT_SECRET');
  });

  test('an empty value, or one of white space, counts as absent', () => {
    for (const name of [...Object.values(SETTINGS).map(({ name }) => name), 'NIF_PT_KEY_FILE']) {
      expect(readConfig({ [name]: '' })).toEqual(readConfig({}));
      expect(readConfig({ [name]: ' \t' })).toEqual(readConfig({}));
    }
  });
});

/** A value of each secret that must have a form. */
const FORMS: Record<string, string> = {
  DATABASE_URL: 'postgres://u:p@db/x',
  ELASTICSEARCH_URL: 'http://u:p@es:9200',
  REDIS_URL: 'redis://:p@redis:6379',
  SMTP_URL: 'smtp://mail.example',
  AUTH_SECRET: 'x'.repeat(32),
};

describe('NAME_FILE', () => {
  const folder = createFolder('config');
  const file = async (content: string) => {
    const path = join(folder, crypto.randomUUID());
    await Bun.write(path, content);
    return path;
  };

  const secrets = Object.entries(SETTINGS).filter(([, { isSecret }]) => isSecret);
  test.each(secrets.map(([member, { name }]) => [name, member as keyof Config] as const))(
    '%s_FILE gives the variable, without the line break at its end',
    async (name, member) => {
      const value = FORMS[name] ?? 'key';
      expect(readConfig({ [`${name}_FILE`]: await file(`${value}\n`) })[member]).toBe(value);
      expect(readConfig({ [`${name}_FILE`]: await file(value), [name]: '' })[member]).toBe(value);
    },
  );

  test('both set is refused, whatever they hold', async () => {
    const message = refusal({ NIF_PT_KEY: 'a', NIF_PT_KEY_FILE: await file('a') });
    expect(message).toBe('NIF_PT_KEY and NIF_PT_KEY_FILE are both set: keep one');
  });

  test('a file that is missing, a folder, or empty is refused by its variable, not its path', async () => {
    expect(refusal({ METRICS_TOKEN_FILE: join(folder, 'none') })).toBe(
      "METRICS_TOKEN_FILE can't be read (ENOENT)",
    );
    expect(refusal({ METRICS_TOKEN_FILE: folder })).toBe("METRICS_TOKEN_FILE can't be read (EISDIR)");
    expect(refusal({ METRICS_TOKEN_FILE: await file('\n') })).toBe('METRICS_TOKEN_FILE names an empty file');
  });

  test('what is in it is checked as the value is', async () => {
    expect(refusal({ REDIS_URL_FILE: await file('http://redis') })).toMatch(/^REDIS_URL\b/);
    expect(refusal({ METRICS_TOKEN_FILE: await file('two\nlines') })).toMatch(/^METRICS_TOKEN\b/);
  });
});

test.each([
  ['serve', runCommand],
  ['account list --json', runHere],
  ['migrate', runHere],
])('%s ends with exit code 2 and that one line, nothing on stdout', async (words, run) => {
  expect(await run({ PORT: 'eighty' }, ...words.split(' '))).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'error: PORT must be a whole number from 0 to 65535, not "eighty"\n',
  });
});

test('a price of credits is three parts, of which texts are made, or the texts', () => {
  const of = (CREDITS_PRICE: string) => readConfig({ CREDITS_PRICE }).creditsPrice;
  const price = { amount: 9.5, currency: 'EUR', credits: 12_500 };
  expect(of('9.5 EUR 12500')).toEqual({
    en: '€9.50 for 12,500',
    pt: '9,50\u00a0€ por 12\u00a0500',
    price,
  });
  expect(of('1500 EUR 1000')).toMatchObject({
    en: '€1,500 for 1,000',
    pt: '1\u00a0500\u00a0€ por 1\u00a0000',
  });
  expect(of('10 € for 1,000 | 10 € por 1 000')).toEqual({ en: '10 € for 1,000', pt: '10 € por 1 000' });
  expect(of('10 € for 1,000')).toEqual({ en: '10 € for 1,000', pt: '10 € for 1,000' });
});

test('a .env that this user can’t read stops a command, instead of counting as absent', async () => {
  const folder = createFolder('env-file');
  const path = join(folder, '.env');
  expect(() => checkEnvFile(path)).not.toThrow();
  await Bun.write(path, 'PORT=3001\n');
  expect(() => checkEnvFile(path)).not.toThrow();
  chmodSync(path, 0);
  chmodSync(folder, 0o755);
  const isRoot = process.getuid!() === 0;
  if (isRoot) process.seteuid!(65534);
  try {
    expect(() => checkEnvFile(path)).toThrow(ConfigError);
  } finally {
    if (isRoot) process.seteuid!(0);
  }
});
