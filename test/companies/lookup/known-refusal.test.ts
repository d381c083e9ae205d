/** What a process knows to be beyond a bound of refreshes is refused before it is charged. */
import { afterAll, beforeEach, expect, test } from 'bun:test';
import { changePlan } from '../../../src/metering/accounts/changes.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import { nif } from '../../support/companies.ts';
import { nifPtFound, nifPtNotFound } from '../../support/provider.ts';
import { until } from '../../support/until.ts';
import { post } from '../test-world/requests.ts';

const api = await startApi({ env: { REFRESHES_PER_DAY: '1000' } });
api.provider.answerAll((number) => nifPtFound(number));
afterAll(() => api.stop());

const limits = { requestsPerMinute: 100_000 };
let next = 5000;
const look = (number: string, key: string) => ask(api, `/companies/${number}`, { key });
const lookUp = (nifs: string[], key: string) => ask(api, '/lookups', { ...post({ nifs }), key });

/** Sets how many refreshes of all accounts are taken today. */
const setAll = (refreshes: number) => api.sql`
  UPDATE day_refreshes SET day = (now() AT TIME ZONE 'UTC')::date, refreshes = ${refreshes}, free_refreshes = 0`;

/** Credits of an account's charges and returns, from the journal and the days. */
async function creditsMoved(accountId: string): Promise<number> {
  const [row] = await api.sql<{ moved: number }[]>`
    SELECT coalesce(sum(abs(credits)), 0)::bigint AS moved FROM (
      SELECT calls AS credits FROM journal_counts WHERE account_id = ${accountId}
      UNION ALL SELECT credits FROM activity WHERE account_id = ${accountId} AND kind <> 'answer'
      UNION ALL SELECT unnest(calls) FROM call_journal WHERE owed AND account_ids[1] = ${accountId}) AS row`;
  return row!.moved;
}

beforeEach(async () => {
  await setAll(1000);
});

/** The process meets the bound, if it does not know it yet. */
async function spend(): Promise<void> {
  await setAll(1000);
  const { key } = await api.caller({ plan: 'plus', limits });
  expect((await look(nif(next++), key)).status).toBe(503);
}

test('a lookup that is known to be refused is not charged, alone and in a list, and the others are', async () => {
  const { accountId, key } = await api.caller({ plan: 'plus', limits, included: 100 });
  await setAll(0);
  const fresh = nif(next++);
  expect((await look(fresh, key)).status).toBe(200);
  await spend();
  const before = await creditsMoved(accountId);
  const refused = await look(nif(next++), key);
  expect([refused.status, refused.headers.get('X-Credits')]).toEqual([503, '0']);
  expect(refused.body.detail).toContain('refreshes of the day (UTC) of all accounts');
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0);
  const unknown = [nif(next++), nif(next++)];
  const all = await lookUp(unknown, key);
  expect([all.status, all.headers.get('X-Credits')]).toEqual([200, '0']);
  expect(all.body.data.map(({ status }: { status: number }) => status)).toEqual([503, 503]);
  expect(all.body.data[0].problem).toMatchObject({ detail: refused.body.detail });
  expect(await creditsMoved(accountId)).toBe(before);
  const some = await lookUp([unknown[0]!, fresh, 'x', unknown[1]!], key);
  expect(some.headers.get('X-Credits')).toBe('2');
  expect(some.body.data.map(({ status }: { status: number }) => status)).toEqual([503, 200, 400, 503]);
  expect((await look(fresh, key)).headers.get('X-Credits')).toBe('1');
  expect((await api.ledger({ accountId })).used).toBe(4);
});

test('of 600 refused lookups of an account with 200 credits none is told that they are spent', async () => {
  const { accountId, key } = await api.caller({ plan: 'plus', limits, included: 200 });
  const answers = [];
  for (let sent = 0; sent < 600; sent += 100)
    answers.push(...(await Promise.all(Array.from({ length: 100 }, () => look(nif(next++), key)))));
  expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.get('X-Credits')}`))).toEqual(
    new Set(['503 0']),
  );
  await until('the credits', async () => (await api.ledger({ accountId })).used === 0);
});

test('an account or a key with nothing left is refused for that first, also after a period or a window', async () => {
  await spend();
  const { accountId } = await api.caller({ plan: 'plus', limits, included: 2 });
  const keyOf = async (credits: number, per: 'day' | 'ever') => {
    const key = generateSecret();
    await createKey(api.sql, accountId, '', 'test', null, key, { budget: { credits, per }, only: null });
    return key;
  };
  const [none, daily] = [await keyOf(0, 'ever'), await keyOf(1, 'day')];
  const told = async (key: string) => (await look(nif(next++), key)).kind;
  expect([await told(none), await told(daily)]).toEqual(['key-budget-spent', 'service-unavailable']);
  expect((await ask(api, '/companies?q=empresa', { key: daily })).status).toBe(200);
  expect(await told(daily)).toBe('key-budget-exceeded');
  await api.sql`UPDATE key_budgets SET window_start = window_start - interval '1 day' WHERE per = 'day'`;
  expect(await told(daily)).toBe('service-unavailable');
  const free = await keyOf(9, 'ever');
  expect((await ask(api, '/companies?q=empresa', { key: free })).status).toBe(200);
  expect([await told(free), await told(daily)]).toEqual(['monthly-quota-exceeded', 'monthly-quota-exceeded']);
  const list = await lookUp([nif(next++)], free);
  expect([list.status, list.kind]).toEqual([429, 'monthly-quota-exceeded']);
  await api.sql`UPDATE balances SET credits = 1 WHERE account_id = ${accountId}`;
  expect(await told(free)).toBe('service-unavailable');
  await api.sql`UPDATE balances SET credits = 0 WHERE account_id = ${accountId}`;
  await changePlan(api.sql, accountId, 'free', {}, 'test');
  expect(await told(free)).toBe('service-unavailable');
});

test('a refresh under way and a "not found" of the last minutes are charged and answered', async () => {
  const { accountId, key } = await api.caller({ plan: 'plus', limits });
  const [running, unknown] = [nif(next++), nif(next++)];
  await spend();
  // Another instance, which knows nothing of the bound and meets none.
  await setAll(0);
  const instance = await api.startInstance();
  const lookThere = (number: string) => ask(instance, `/companies/${number}`, { key });
  api.provider.answer(unknown, nifPtNotFound());
  expect((await lookThere(unknown)).status).toBe(404);
  api.provider.hold();
  const first = lookThere(running);
  await until('the question', () => api.provider.lookups().some((request) => request.nif === running));
  const second = look(running, key);
  const notFound = await look(unknown, key);
  expect([notFound.status, notFound.headers.get('X-Credits')]).toEqual([404, '1']);
  await until('its charge', async () => (await api.ledger({ accountId })).used === 4);
  api.provider.release();
  for (const { status, headers } of await Promise.all([first, second]))
    expect([status, headers.get('X-Credits')]).toEqual([200, '1']);
  await instance.stop();
});

test("an account's own bound concerns no other account, and not the account once its limit is raised", async () => {
  await setAll(0);
  const [poor, rich] = [await api.caller(), await api.caller()];
  await api.sql`
    INSERT INTO account_refreshes (account_id, day, refreshes)
    VALUES (${poor.accountId}, (now() AT TIME ZONE 'UTC')::date, 200)`;
  const instance = await api.startInstance();
  const lookAt = (key: string) => ask(instance, `/companies/${nif(next++)}`, { key });
  for (let i = 0; i < 2; i += 1) expect((await lookAt(poor.key)).body.detail).toContain('of the day (UTC)');
  expect((await lookAt(rich.key)).status).toBe(200);
  await changePlan(api.sql, poor.accountId, 'plus', {}, 'test');
  await until('the plan', async () => (await lookAt(poor.key)).status === 200);
  await instance.stop();
});
