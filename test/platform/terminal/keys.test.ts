import { afterAll, expect, test } from 'bun:test';
import { createKey } from '../../../src/metering/keys/store.ts';
import { DAY } from '../../../src/platform/units.ts';
import { createCommandLine } from '../../support/command.ts';
import { storeCallCounts, storeCostlyErrorCounts } from '../../support/counts.ts';
import { createTestDatabase } from '../../support/database.ts';

const database = await createTestDatabase('cli_keys');
const cli = createCommandLine(database.url);
afterAll(() => database.drop());

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const createAccount = async () => (await cli.json('account', 'create', '--name', 'Test')).id as string;

test('key create answers {id, secret}; key list the members of docs/commands.md, the secret never again', async () => {
  const account = await createAccount();
  const { id, secret, ...more } = await cli.json('key', 'create', account, '--name', 'production');
  expect([id, secret, more]).toEqual([
    expect.stringMatching(/^[a-z0-9][a-z0-9_]+$/),
    expect.stringMatching(/^svc_[a-z2-7]{40}$/),
    {},
  ]);
  const { stdout } = await cli.run('key', 'list', account, '--json');
  expect(stdout).not.toContain(secret);
  expect(JSON.parse(stdout)).toEqual([
    {
      id,
      name: 'production',
      test: false,
      connection: false,
      start: secret.slice(0, 10),
      created: expect.stringMatching(INSTANT),
      revoked: null,
      expires: null,
      previousUntil: null,
      budget: null,
      only: null,
      requests_per_minute: null,
    },
  ]);
  expect((await cli.run('key', 'list', account)).stdout).not.toContain(secret);
});

test('key create --test makes a test key, and a rotated one stays one', async () => {
  const account = await createAccount();
  const { id, secret, ...more } = await cli.json('key', 'create', account, '--test');
  expect([secret, more]).toEqual([expect.stringMatching(/^svc_test_[a-z2-7]{40}$/), { test: true }]);
  const rotated = await cli.json('key', 'rotate', id);
  expect(rotated.secret).toMatch(/^svc_test_[a-z2-7]{40}$/);
  const start = rotated.secret.slice(0, 15);
  expect(await cli.json('key', 'list', account)).toMatchObject([{ id, test: true, start }]);
  expect(await cli.json('key', 'show', id)).toMatchObject({ id, test: true });
});

test('key create and key limit set a budget, rights and a share, which key list and key show have', async () => {
  const account = await createAccount();
  const budget = ['--credits', '50', '--per', 'day'];
  const share = ['--requests-per-minute', '7'];
  const { id } = await cli.json('key', 'create', account, ...budget, ...share, '--only', 'debts,lookup');
  const today = new Date().toISOString().slice(0, 10);
  const resets = new Date(Date.parse(today) + DAY).toISOString();
  const first = {
    budget: { credits: 50, per: 'day', used: 0, resets },
    only: ['lookup', 'debts'],
    requests_per_minute: 7,
  };
  expect(await cli.json('key', 'list', account)).toMatchObject([{ id, ...first }]);
  expect(await cli.json('key', 'show', id)).toMatchObject({ id, ...first });
  const ever = { credits: 0, per: 'ever', used: 0, resets: null };
  expect(await cli.json('key', 'limit', id, '--credits', '0', '--per', 'ever')).toEqual({
    id,
    ...first,
    budget: ever,
  });
  expect(await cli.json('key', 'limit', id, '--only', 'all')).toEqual({
    ...{ id, budget: ever, only: null, requests_per_minute: 7 },
  });
  expect(await cli.json('key', 'limit', id, '--requests-per-minute', 'none')).toMatchObject({
    ...{ budget: ever, only: null, requests_per_minute: null },
  });
  expect(await cli.json('key', 'limit', id, '--credits', 'none')).toMatchObject({ budget: null, only: null });
  expect(await cli.json('key', 'limit', id, '--only', 'usage')).toEqual({
    id,
    budget: null,
    only: ['usage'],
    requests_per_minute: null,
  });
  expect(
    (await cli.json('account', 'history', account)).slice(-6).map(({ kind }: { kind: string }) => kind),
  ).toEqual(['key-created', ...Array(5).fill('key-limited')]);
});

test('limits that make no sense are refused', async () => {
  const account = await createAccount();
  const budget = ['--credits', '50', '--per', 'day'];
  expect((await cli.refusal('key', 'create', account, '--test', ...budget)).code).toBe(1);
  const test = await cli.json('key', 'create', account, '--test', '--only', 'search');
  expect(await cli.json('key', 'list', account)).toMatchObject([{ id: test.id, only: ['search'] }]);
  expect((await cli.refusal('key', 'limit', test.id, ...budget)).code).toBe(1);
  const { id } = await cli.json('key', 'create', account);
  for (const wrong of [
    [],
    ['--credits', '50'],
    ['--per', 'day'],
    ['--credits', 'none', '--per', 'day'],
    ['--credits', '-1', '--per', 'day'],
    ['--credits', '50', '--per', 'week'],
    ['--only', ''],
    ['--only', 'search,money'],
  ])
    expect([wrong, await cli.refusal('key', 'limit', id, ...wrong)]).toMatchObject([wrong, { code: 2 }]);
  await cli.json('key', 'revoke', id);
  expect((await cli.refusal('key', 'limit', id, ...budget)).code).toBe(1);
  expect((await cli.refusal('key', 'limit', 'key_none', ...budget)).code).toBe(1);
});

test('key create takes --expires, which must be an instant in the future', async () => {
  const account = await createAccount();
  const { id } = await cli.json('key', 'create', account, '--expires', '2999-01-01T01:00:00+01:00');
  expect(await cli.json('key', 'list', account)).toMatchObject([{ id, expires: '2999-01-01T00:00:00.000Z' }]);
  expect((await cli.refusal('key', 'create', account, '--expires', '2020-01-01T00:00:00Z')).code).toBe(1);
  expect((await cli.refusal('key', 'create', account, '--expires', 'tomorrow')).code).toBe(2);
});

test('key rotate answers {id, secret, previousUntil}, a day from now unless --overlap says otherwise', async () => {
  const account = await createAccount();
  const first = await cli.json('key', 'create', account, '--name', 'production');
  const sinceS = Date.now() / 1000;
  const rotated = await cli.json('key', 'rotate', first.id);
  expect(rotated).toEqual({
    id: first.id,
    secret: expect.stringMatching(/^svc_[a-z2-7]{40}$/),
    previousUntil: expect.stringMatching(INSTANT),
  });
  expect(rotated.secret).not.toBe(first.secret);
  const beganS = Date.parse(rotated.previousUntil) / 1000 - 86_400;
  expect(beganS).toBeWithin(sinceS - 1, Date.now() / 1000 + 1);
  expect(await cli.json('key', 'list', account)).toMatchObject([
    { id: first.id, start: rotated.secret.slice(0, 10), previousUntil: rotated.previousUntil },
  ]);
  const last = await cli.json('key', 'rotate', first.id, '--overlap', '0');
  expect(Date.parse(last.previousUntil)).toBeLessThanOrEqual(Date.now());
  expect(await cli.json('key', 'list', account)).toMatchObject([{ name: 'production', previousUntil: null }]);
  for (const overlap of ['-1', '1.5', '2592001', 'day']) {
    expect((await cli.refusal('key', 'rotate', first.id, '--overlap', overlap)).code).toBe(2);
  }
  expect((await cli.refusal('key', 'rotate', 'key_none', '--json')).code).toBe(1);
  expect((await cli.run('key', 'rotate', first.id)).stdout.split('\n')[0]).toMatch(/^svc_[a-z2-7]{40}$/);
});

test('key revoke answers {id, revoked} with the first date, however often', async () => {
  const account = await createAccount();
  const { id } = await cli.json('key', 'create', account);
  const first = await cli.json('key', 'revoke', id);
  expect(first).toEqual({ id, revoked: expect.stringMatching(INSTANT) });
  expect(await cli.json('key', 'revoke', id)).toEqual(first);
  expect((await cli.json('key', 'list', account))[0].revoked).toBe(first.revoked);
  expect((await cli.json('account', 'show', account)).keys).toBe(0);
});

test('without --json the secret stands alone on the first line', async () => {
  const { stdout } = await cli.run('key', 'create', await createAccount());
  expect(stdout.split('\n')[0]).toMatch(/^svc_[a-z2-7]{40}$/);
});

test('unknown accounts and keys fail with exit code 1', async () => {
  expect((await cli.refusal('key', 'create', 'acc_none')).code).toBe(1);
  expect((await cli.refusal('key', 'list', 'acc_none', '--json')).code).toBe(1);
  expect((await cli.refusal('key', 'revoke', 'key_none', '--json')).code).toBe(1);
});

test('a secret where an id belongs is not repeated, by any command', async () => {
  const account = await createAccount();
  const { secret } = await cli.json('key', 'create', account);
  const ids = 'ids begin with key_, and `key list ACCOUNT` shows them';
  for (const given of [secret, secret.slice(0, 10), 'svc_']) {
    expect(await cli.refusal('key', 'revoke', given)).toEqual({
      code: 1,
      stderr: `error: that is a key's secret, or its beginning: ${ids}\n`,
    });
  }
  const unknown = `error: there is no account "${secret.slice(0, 10)}…": see \`account list\`\n`;
  for (const [words, code, said] of [
    [['key', 'list', secret], 1, unknown],
    [['key', 'create', secret], 1, unknown],
    [['account', 'show', secret], 1, unknown],
    [['account', 'suspend', secret.slice(0, -3)], 1, unknown],
    [['account', 'invite', secret, '--email', 'maria@example.com'], 1, /^error: /],
    [['companies', 'show', secret], 2, /nine digits/],
    [['key', 'rotate', secret], 1, /that is a key's secret/],
    [['key', secret], 2, /^error: /],
    [['key', 'revoke', 'key_none', secret], 2, /^error: /],
    [['key', 'list', account, `--${secret}`], 2, /^error: /],
    [['companies', 'import', secret], 1, /^error: /],
  ] as const) {
    const outcome = await cli.refusal(...words);
    expect([words, outcome.code]).toEqual([words, code]);
    expect(outcome.stderr).toMatch(said);
    expect(outcome.stderr).not.toContain(secret.slice(0, 20));
  }
});

test('control characters of a key’s name reach no terminal', async () => {
  const account = await createAccount();
  await createKey(database.sql, account, 'a\u001b]0;title\u0007b', 'test');
  expect((await cli.run('key', 'list', account)).stdout).toContain('a·]0;title·b');
});

test('key expire gives a key another end, and answers {id, expires}; an expired key works again', async () => {
  const account = await createAccount();
  const { id } = await cli.json('key', 'create', account, '--expires', '2999-01-01T00:00:00Z');
  const at = '2998-01-01T00:00:00.000Z';
  expect(await cli.json('key', 'expire', id, '--at', at)).toEqual({ id, expires: at });
  expect(await cli.json('key', 'expire', id, '--never')).toEqual({ id, expires: null });
  await database.sql`UPDATE api_keys SET expires_at = now() - interval '1 day' WHERE id = ${id}`;
  expect(await cli.json('key', 'expire', id, '--at', at)).toEqual({ id, expires: at });
  expect((await cli.refusal('key', 'expire', id, '--at', '2020-01-01T00:00:00Z')).code).toBe(1);
  expect((await cli.refusal('key', 'expire', 'key_unknown', '--never')).code).toBe(1);
  expect((await cli.refusal('key', 'expire', id)).code).toBe(2);
  expect((await cli.refusal('key', 'expire', id, '--never', '--at', at)).code).toBe(2);
  const history = await cli.json('account', 'history', account);
  expect(history.at(-1)).toMatchObject({ kind: 'key-expiry-changed', key: id, detail: { expires: at } });
  await cli.json('key', 'revoke', id);
  expect((await cli.refusal('key', 'expire', id, '--never')).code).toBe(1);
});

test('an expired key takes a place again only if the plan has one', async () => {
  const account = await createAccount();
  const { id } = await cli.json('key', 'create', account);
  await database.sql`UPDATE api_keys SET expires_at = now() - interval '1 day' WHERE id = ${id}`;
  for (let count = 0; count < 2; count += 1) await createKey(database.sql, account, 'other', 'test');
  const refused = await cli.refusal('key', 'expire', id, '--never');
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('its plan allows 2')]);
});

test('key show has calls, errors, and the last use of each secret', async () => {
  const account = await createAccount();
  const { id } = await cli.json('key', 'create', account, '--name', 'production');
  const rotated = await cli.json('key', 'rotate', id);
  await database.sql`INSERT INTO api_key_uses SELECT secret_sha256, '2026-11-23T08:15:00Z' FROM api_keys WHERE id = ${id}`;
  const today = database.sql`(now() AT TIME ZONE 'UTC')::date`;
  await storeCallCounts(
    database.sql,
    database.sql`VALUES (${account}, ${today}, ${id}, 'search', 3), (${account}, ${today} - 30, ${id}, 'search', 100)`,
  );
  await storeCostlyErrorCounts(
    database.sql,
    database.sql`VALUES (${account}, ${today}, ${id}, '401', 412, 0), (${account}, ${today}, ${id}, '4xx', 7, 7)`,
  );
  expect(await cli.json('key', 'show', id)).toMatchObject({
    id,
    account,
    name: 'production',
    expires: null,
    calls: { search: 3, lookup: 0 },
    errors: { '401': 412, '4xx': 7 },
    errorCredits: 7,
    secrets: [
      { until: null, lastUsed: '2026-11-23T08:15:00.000Z' },
      { until: rotated.previousUntil, lastUsed: null },
    ],
  });
  const { stdout } = await cli.run('key', 'show', id);
  expect(stdout).toMatch(/^ERRORS, 30 DAYS +401: 412, 4xx: 7\nCOST OF ERRORS +7 credits$/m);
  expect((await cli.refusal('key', 'show', 'key_unknown')).code).toBe(1);
});
