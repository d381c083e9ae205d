import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { changeLimits, changePlan, setSuspended } from '../../../src/metering/accounts/changes.ts';
import {
  type Authenticator,
  bearerToken,
  type Caller,
  createAuthenticator,
} from '../../../src/metering/keys/authenticate.ts';
import { createKey, revokeKey } from '../../../src/metering/keys/key-store.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import { generateSecret, hashSecret, hasSecretLength } from '../../../src/metering/keys/secret.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startProxy } from '../../support/proxy.ts';
import { createCaller } from '../../support/service.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { eventually, until } from '../../support/until.ts';

const database = await createTestDatabase('authenticate');
const sql = database.sql;
/** Notifications go through it; queries don't, unless a test says so. */
const proxy = await startProxy(database.url);
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

let listeners: Sql[];
let authenticator: Authenticator;
let nowMs: number;
let queries: number;
/** The hashes that each query asks for. */
let asked: string[][];
/** Answers of Postgres reach the authenticator when it resolves. */
let held: Promise<unknown> | null;
/** Keys that come at once are one turn's, however slow the machine is. */
let clock: ReturnType<typeof stopClock>;

beforeEach(async () => {
  proxy.up();
  nowMs = 1000;
  held = null;
  listeners = [];
  clock = stopClock();
  await startAfresh();
});
afterEach(async () => {
  clock.restore();
  proxy.up();
  await Promise.all(listeners.map((listener) => listener.end({ timeout: 1 })));
});

/** A new instance, with its own connection for notifications; it gets none of those sent before. */
async function startAfresh(): Promise<void> {
  const listener = connectPostgres(proxy.url(database.url), { max: 1 });
  listeners.push(listener);
  authenticator = await createAuthenticator(counted(sql, listener), undefined, () => nowMs);
  queries = 0;
  asked = [];
}

/** The pool, its queries counted and held, its notifications heard through the proxy. */
function counted(pool: Sql, listener: Sql): Sql {
  return new Proxy(pool, {
    apply(target, self, parameters) {
      queries += 1;
      asked.push(parameters.at(-1));
      const query = Reflect.apply(target, self, parameters);
      if (held === null) return query;
      return Promise.all([query, held]).then(([rows]) => rows);
    },
    get: (target, name) => (name === 'listen' ? listener.listen : Reflect.get(target, name)),
  });
}

const createCallers = (count: number) => Promise.all(Array.from({ length: count }, () => createCaller(sql)));
const bearer = (key: string) => authenticator.authenticate(key);
/** As the pipeline does it: a header without a token of a key's length is refused without asking the authenticator. */
const authenticate = async (header: string | null) => {
  const token = bearerToken(header);
  return token === null || !hasSecretLength(token) ? null : authenticator.authenticate(token);
};

/** Of a caller the members that are expected; `null` of one that is refused. */
const like = (seen: Caller | null, expected: Partial<Caller> | null): Partial<Caller> | null =>
  seen && expected
    ? Object.fromEntries(Object.keys(expected).map((name) => [name, seen[name as keyof Caller]]))
    : seen;

function expectLike(seen: Caller | null, expected: Partial<Caller> | null): void {
  expect(like(seen, expected)).toEqual(expected);
}

/** Waits for what a notification brings about, the clock standing still. */
const soon = (key: string, expected: Partial<Caller> | null) =>
  eventually(async () => like(await bearer(key), expected), expected);

describe('who a key speaks for', () => {
  test('a valid key: its account, itself, and the limit in force', async () => {
    const { accountId, keyId, key } = await createCaller(sql);
    expect({ ...(await bearer(key)) }).toEqual({
      accountId,
      keyId,
      plan: 'free',
      requestsPerMinute: 20,
      isTest: false,
      only: null,
      budget: null,
      shares: null,
    });
    const plus = await createCaller(sql, { plan: 'plus' });
    expect(await bearer(plus.key)).toMatchObject({ plan: 'plus', requestsPerMinute: 60 });
    const own = await createCaller(sql, { limits: { requestsPerMinute: 6000 } });
    expect(await bearer(own.key)).toMatchObject({ requestsPerMinute: 6000 });
    const past = { periodStart: new Date('2026-01-01T00:00:00Z'), until: new Date('2026-02-01T00:00:00Z') };
    const lapsed = await createCaller(sql, { plan: 'plus', ...past });
    expect(await bearer(lapsed.key)).toMatchObject({ plan: 'free', requestsPerMinute: 20 });
  });

  test('missing and malformed headers, and garbage keys, are refused without a query', async () => {
    const { key } = await createCaller(sql);
    queries = 0;
    const headers = [
      null,
      '',
      'Bearer',
      'Bearer ',
      key,
      `Basic ${key}`,
      `Bearer${key}`,
      `Bearer ${key} extra`,
      `Bearer ${key}, Bearer ${key}`,
      `Bearer "${key}"`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key.toUpperCase()}`,
      `Bearer svc_${'a'.repeat(40)}`,
      'Bearer svc_\u0000',
      `Bearer ${"' OR 1=1 --".repeat(100)}`,
    ];
    for (const header of headers) expect([header, await authenticate(header)]).toEqual([header, null]);
    expect(queries).toBe(0);
  });
});

describe('what is remembered', () => {
  test('keys that come at once cost one query in 4 s, however many they are, and however often each comes', async () => {
    const callers = await createCallers(20);
    await startAfresh();
    const often = Array.from({ length: 5 }, () => callers).flat();
    const found = await Promise.all([...often.map(({ key }) => bearer(key)), bearer(generateSecret())]);
    expect(found.map((caller) => caller?.keyId)).toEqual([...often.map(({ keyId }) => keyId), undefined]);
    expect(queries).toBe(1);
    nowMs += 3999;
    await Promise.all(callers.map(({ key }) => bearer(key)));
    expect(queries).toBe(1);
    nowMs += 1;
    await bearer(callers[0]!.key);
    expect(queries).toBe(2);
  });

  test('a query takes along the keys in use that end soon, and what has changed about them', async () => {
    const [first, inUse, revoked, unused] = await createCallers(4);
    await startAfresh();
    proxy.hang();
    await bearer(first!.key);
    nowMs += 500;
    for (const caller of [inUse, revoked, unused, inUse, revoked]) await bearer(caller!.key);
    await revokeKey(sql, revoked!.keyId, 'test');
    nowMs += 3500;
    queries = 0;
    expect(await bearer(first!.key)).toMatchObject({ keyId: first!.keyId });
    nowMs += 600;
    expect(await bearer(inUse!.key)).toMatchObject({ keyId: inUse!.keyId });
    expect(await bearer(revoked!.key)).toBeNull();
    expect(queries).toBe(1);
    expect(await bearer(unused!.key)).toMatchObject({ keyId: unused!.keyId });
    expect(queries).toBe(2);
  });

  test('a query takes along no key that a query beside it has taken along', async () => {
    const [inUse, first, second] = (await createCallers(3)).map(({ key }) => key);
    await startAfresh();
    for (let use = 0; use < 2; use += 1) await bearer(inUse!);
    nowMs += 2500;
    asked = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    const answers = [bearer(first!)];
    await until('the first query', () => asked.length === 1);
    answers.push(bearer(second!));
    await until('the query beside it', () => asked.length === 2);
    resolve();
    await Promise.all(answers);
    const hashOf = (key?: string) => hashSecret(key!).toString('base64');
    expect(asked).toEqual([[hashOf(first), hashOf(inUse)], [hashOf(second)]]);
  });

  test('a query takes along 500 keys at most, so that it stays short', async () => {
    const { accountId, key } = await createCaller(sql);
    const secrets = Array.from({ length: 600 }, () => generateSecret());
    await sql`
      INSERT INTO api_keys (id, account_id, start, secret_sha256)
      SELECT 'key_' || n, ${accountId}, 'svc_', decode(hash, 'hex')
      FROM unnest(${secrets.map((secret) => hashSecret(secret).toString('hex'))}::text[]) WITH ORDINALITY AS made (hash, n)`;
    const askAll = () => Promise.all(secrets.map(bearer));
    await startAfresh();
    proxy.hang();
    await askAll();
    await askAll();
    nowMs += 3000;
    await bearer(key);
    nowMs += 1500;
    queries = 0;
    expect((await askAll()).map((caller) => caller?.accountId)).toEqual(Array(600).fill(accountId));
    expect(queries).toBe(1);
  });

  test('an unknown key costs one query a second, and works then if it was created afterwards', async () => {
    const { accountId } = await createCaller(sql);
    const key = generateSecret();
    expect(await bearer(key)).toBeNull();
    await createKey(sql, accountId, '', 'test', null, key);
    nowMs += 999;
    expect(await bearer(key)).toBeNull();
    expect(queries).toBe(1);
    nowMs += 1;
    expectLike(await bearer(key), { accountId });
    expect(queries).toBe(2);
  });

  test('unknown keys are remembered up to 10,000 and no further', async () => {
    const first = generateSecret();
    await bearer(first);
    for (let crowd = 0; crowd < 3; crowd += 1) {
      await Promise.all(Array.from({ length: 3333 }, () => bearer(generateSecret())));
    }
    queries = 0;
    await bearer(first);
    expect(queries).toBe(0);
    await bearer(generateSecret());
    await bearer(first);
    expect(queries).toBe(2);
  });

  test('changes of accounts do not make refused keys cost queries', async () => {
    const { accountId, key } = await createCaller(sql);
    await bearer(key);
    const unknown = generateSecret();
    await bearer(unknown);
    await changeLimits(sql, accountId, { requestsPerMinute: 7 }, 'test');
    await soon(key, { requestsPerMinute: 7 });
    queries = 0;
    expect(await bearer(unknown)).toBeNull();
    expect(queries).toBe(0);
  });
});

const SEVEN = { requestsPerMinute: 7 };
const BUDGET = { budget: { credits: 5, per: 'day' as const } };
type Change = (caller: Pick<Caller, 'accountId' | 'keyId'>) => Promise<unknown>;
const limitTo =
  (limits: Parameters<typeof limitKey>[2]): Change =>
  ({ keyId }) =>
    limitKey(sql, keyId, limits, 'test');

/** Each change with what it makes of a Free account's key. */
const CHANGES: [string, Change, Partial<Caller> | null][] = [
  ['revocation', ({ keyId }) => revokeKey(sql, keyId, 'test'), null],
  ['suspension', ({ accountId }) => setSuspended(sql, accountId, true, 'test'), null],
  ['a plan', ({ accountId }) => changePlan(sql, accountId, 'plus', {}, 'test'), { requestsPerMinute: 60 }],
  ['limits', ({ accountId }) => changeLimits(sql, accountId, SEVEN, 'test'), SEVEN],
  ['the rights of a key', limitTo({ only: ['debts', 'search'] }), { only: ['search', 'debts'] }],
  ['a first budget', limitTo(BUDGET), BUDGET],
];

describe('changes reach every instance', () => {
  for (const [what, change, expected] of CHANGES) {
    test(`${what}: at once by notification`, async () => {
      const caller = await createCaller(sql);
      expect(await bearer(caller.key)).not.toBeNull();
      await change(caller);
      await soon(caller.key, expected);
    });

    test(`${what}: within 5 s where the notification is lost`, async () => {
      const caller = await createCaller(sql);
      await startAfresh();
      proxy.hang();
      const before = await bearer(caller.key);
      expect(before).toMatchObject({ requestsPerMinute: 20 });
      await change(caller);
      nowMs += 3999;
      expect(await bearer(caller.key)).toEqual(before);
      nowMs += 1;
      expectLike(await bearer(caller.key), expected);
    });
  }

  test('a resumed account works again within a second', async () => {
    const { accountId, key } = await createCaller(sql);
    await setSuspended(sql, accountId, true, 'test');
    expect(await bearer(key)).toBeNull();
    await setSuspended(sql, accountId, false, 'test');
    nowMs += 1000;
    expectLike(await bearer(key), { accountId });
  });

  test("an answer that overlaps its account's change is not remembered, and those of other accounts are", async () => {
    const [changed, other] = [await createCaller(sql), await createCaller(sql)];
    await startAfresh();
    const heard = new Set<string>();
    // After the authenticator's own listener, on the same connection.
    await listeners.at(-1)!.listen('account_changed', (accountId) => void heard.add(accountId));
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    const answers = Promise.all([bearer(changed.key), bearer(other.key)]);
    await until('the query', () => queries === 1);
    await changeLimits(sql, changed.accountId, { requestsPerMinute: 7 }, 'test');
    await until('the notification', () => heard.has(changed.accountId));
    held = null;
    resolve();
    expect((await answers).map((caller) => caller?.accountId)).toEqual([changed.accountId, other.accountId]);
    expect(queries).toBe(1);
    expectLike(await bearer(other.key), { accountId: other.accountId });
    expect(queries).toBe(1);
    expectLike(await bearer(changed.key), { requestsPerMinute: 7 });
    expect(queries).toBe(2);
  });

  test('every key of a changed account is asked for again, and is remembered again', async () => {
    const { accountId, key } = await createCaller(sql, { plan: 'plus' });
    const { secret: second } = await createKey(sql, accountId, '', 'test');
    await startAfresh();
    for (const requestsPerMinute of [7, 8, 9]) {
      await bearer(key);
      await bearer(second);
      await changeLimits(sql, accountId, { requestsPerMinute }, 'test');
      await soon(key, { requestsPerMinute });
      await soon(second, { requestsPerMinute });
    }
    queries = 0;
    await bearer(key);
    await bearer(second);
    expect(queries).toBe(0);
  });

  test('a connection for notifications that breaks is made again, and what was missed is forgotten', async () => {
    const { keyId, key } = await createCaller(sql);
    expect(await bearer(key)).not.toBeNull();
    proxy.down();
    await revokeKey(sql, keyId, 'test');
    const refused = proxy.refused();
    await until('an attempt to connect', () => proxy.refused() > refused);
    proxy.up();
    await soon(key, null);
    const later = await createCaller(sql);
    await soon(later.key, { keyId: later.keyId });
    await revokeKey(sql, later.keyId, 'test');
    await soon(later.key, null);
  });
});
