/** The bounds of refreshes, and what a process that knows of one refuses before it charges. */
import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test';
import { createRefreshBounds, RefreshesUsedUpError } from '../../../src/companies/lookup/refresh-bounds.ts';
import { changePlan } from '../../../src/metering/accounts/changes.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { MINUTE } from '../../../src/platform/units.ts';
import { createVisitor, signUp } from '../../dashboard/visitor.ts';
import { type Instance, startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import type { CallAnswer } from '../../support/client.ts';
import { nif } from '../../support/companies.ts';
import { readMetrics } from '../../support/metrics.ts';
import { nifPtFound, nifPtLimit, nifPtNotFound } from '../../support/provider.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { eventually, until } from '../../support/until.ts';
import { post } from '../test-world/requests.ts';

/** Of an account with the Free plan's 20 requests per minute. */
const [PER_DAY, PER_MINUTE] = [200, 10];
const plenty = { limits: { requestsPerMinute: 100_000 } };

let next = 850;
const api = await startApi({ env: { SIGN_UP: 'open' } });
api.provider.answerAll((number) => nifPtFound(number));
afterAll(() => api.stop());

const asked = (number: string) => api.provider.lookups().filter((request) => request.nif === number).length;
const look = (number: string, key: string, at: Pick<Instance, 'url'> = api) =>
  ask(at, `/companies/${number}`, { key });
const lookUp = (nifs: string[], key: string, at: Pick<Instance, 'url'> = api) =>
  ask(at, '/lookups', { ...post({ nifs }), key });
const statusesOf = ({ body }: CallAnswer) => body.data.map(({ status }: { status: number }) => status);
const newNifs = (count: number) => Array.from({ length: count }, () => nif(next++));

/** Sets what an account has caused, as many days ago. */
async function setRefreshes(accountId: string, refreshes: number, daysAgo = 0): Promise<void> {
  await api.sql`
    INSERT INTO account_refreshes (account_id, day, refreshes)
    VALUES (${accountId}, (now() AT TIME ZONE 'UTC')::date - ${daysAgo}::integer, ${refreshes})
    ON CONFLICT (account_id) DO UPDATE SET day = excluded.day, refreshes = excluded.refreshes`;
}

/** Sets what all accounts together have caused, as many days ago. */
const setAll = (refreshes: number, free = 0, daysAgo = 0) => api.sql`
  UPDATE day_refreshes SET day = (now() AT TIME ZONE 'UTC')::date - ${daysAgo}::integer,
    refreshes = ${refreshes}, free_refreshes = ${free}`;

async function refreshesOf(accountId: string): Promise<number> {
  const [row] = await api.sql`SELECT refreshes FROM account_refreshes WHERE account_id = ${accountId}`;
  return row?.refreshes ?? 0;
}

const metric = async (name: string, at: Pick<Instance, 'baseUrl'> = api) =>
  (await readMetrics(at))[name] ?? Number.NaN;

/** Checks the 503 of a bound: its text, and when to come back. @returns the instant that it names */
function refusedUntil(problem: { status: number; type: string; detail: string }, text: string): number {
  expect(problem.type).toEndWith('/problems/service-unavailable');
  expect([problem.status, problem.detail]).toEqual([503, expect.stringContaining(text)]);
  return Date.parse(/ at (\S+Z)\.$/.exec(problem.detail)![1]!);
}

const DAY_MS = 86_400_000;
const midnight = () => (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS;
// All of it is of one day.
if (midnight() - Date.now() < MINUTE) await Bun.sleep(midnight() - Date.now());

/** A refusal until midnight (UTC), by a read since that instant. What the read takes is counted as waited. */
function expectUntilMidnight({ body, headers }: CallAnswer, text: string, sinceMs: number): void {
  const untilMs = refusedUntil(body, text);
  expect(untilMs).toBe(midnight());
  const retryAfterMs = Number(headers.get('Retry-After')) * 1000;
  const tookMs = Date.now() - sinceMs;
  expect(retryAfterMs).toBeWithin(untilMs - Date.now() - tookMs, untilMs - sinceMs + 1001);
}

describe("an account's refreshes of a day", () => {
  test('beyond them a lookup is a 503 until midnight, free, and no source is asked; fresh records are answered', async () => {
    const { accountId, key } = await api.caller();
    const [last, refused] = [nif(next++), nif(next++)];
    const before = await metric('refreshes_refused_total{bound="account-day"}');
    await setRefreshes(accountId, PER_DAY - 1);
    expect((await look(last, key)).status).toBe(200);
    const sinceMs = Date.now();
    for (let lookup = 0; lookup < 2; lookup += 1)
      expectUntilMidnight(await look(refused, key), 'used up its refreshes of the day', sinceMs);
    expect([asked(last), asked(refused)]).toEqual([1, 0]);
    expect((await look(last, key)).status).toBe(200);
    await eventually(async () => (await api.ledger({ accountId })).used, 2);
    expect(await refreshesOf(accountId)).toBe(PER_DAY);
    expect((await metric('refreshes_refused_total{bound="account-day"}')) - before).toBe(2);
  });

  test("begin again the next day, and grow with the account's requests per minute", async () => {
    const [yesterday, larger] = [await api.caller(), await api.caller({ limits: { requestsPerMinute: 21 } })];
    await setRefreshes(yesterday.accountId, PER_DAY, 1);
    expect((await look(nif(next++), yesterday.key)).status).toBe(200);
    expect(await refreshesOf(yesterday.accountId)).toBe(1);
    await setRefreshes(larger.accountId, PER_DAY + 9);
    const statuses = [await look(nif(next++), larger.key), await look(nif(next++), larger.key)];
    expect(statuses.map(({ status }) => status)).toEqual([200, 503]);
  });

  test('count questions, not lookups: a crowd that waits for one refresh takes one', async () => {
    const { accountId, key } = await api.caller();
    const number = nif(next++);
    const answers = await Promise.all(Array.from({ length: 15 }, () => look(number, key)));
    expect(answers.map(({ status }) => status)).toEqual(Array(15).fill(200));
    expect([await refreshesOf(accountId), asked(number)]).toEqual([1, 1]);
  });

  test("are shared by the API and the dashboard's Try it", async () => {
    const visitor = createVisitor(api.baseUrl);
    const { accountId } = await signUp(visitor);
    const { secret: key } = await createKey(api.sql, accountId, '', 'test');
    await setRefreshes(accountId, PER_DAY - 2);
    expect((await look(nif(next++), key)).status).toBe(200);
    const tryIt = async () => {
      const page = await visitor.submit('/dashboard/try', { q: nif(next++), kind: 'lookup' });
      return page.textOf('.badge[role=status]');
    };
    expect([await tryIt(), await tryIt()]).toEqual(['200', '503']);
    expect((await look(nif(next++), key)).status).toBe(503);
  });
});

describe('a refresh is taken when a source is asked, and only then', () => {
  test('nif.pt in the window of its limit, and no registry: 30 lookups take the one that was asked', async () => {
    const instance = await api.startInstance();
    const { accountId, key } = await api.caller(plenty);
    const [first, ...others] = newNifs(30);
    api.provider.answer(first!, nifPtLimit('month'));
    expect((await look(first!, key, instance)).status).toBe(502);
    const answers = await Promise.all(others.map((number) => look(number, key, instance)));
    expect(answers.map(({ status }) => status)).toEqual(Array(29).fill(502));
    expect(await refreshesOf(accountId)).toBe(1);
    expect(others.filter((number) => asked(number) > 0)).toEqual([]);
    await instance.stop();
  });

  test('a source whose breaker is open takes none; both sources of a lookup take one', async () => {
    const instance = await api.startInstance({ REGISTRY: 'vies' });
    const { accountId, key } = await api.caller(plenty);
    await api.provider.mode({ status: 500 });
    const opening = newNifs(10);
    await Promise.all(opening.map((number) => look(number, key, instance)));
    expect([opening.map(asked), await refreshesOf(accountId)]).toEqual([Array(10).fill(2), 10]);
    const skipped = newNifs(12);
    for (const { kind } of await Promise.all(skipped.map((number) => look(number, key, instance)))) {
      expect(kind).toBe('company-lookup-failed');
    }
    await api.provider.mode('normal');
    expect([skipped.map(asked), await refreshesOf(accountId)]).toEqual([Array(12).fill(0), 10]);
    await instance.stop();
  });
});

describe('in a minute', () => {
  const setMinute = (accountId: string, secondsAgo: number) => api.sql`
    UPDATE account_refreshes SET last_minute =
      ARRAY (SELECT now() - ${secondsAgo}::float8 * interval '1 second' FROM unnest(last_minute))
    WHERE account_id = ${accountId}`;

  test('a Free account has ten, in whatever requests and instances; others have room when they are a minute old', async () => {
    const { accountId, key } = await api.caller();
    const other = await api.startInstance();
    const single = newNifs(4);
    const answers = await Promise.all(
      single.map((number, index) => look(number, key, index % 2 === 0 ? api : other)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(4).fill(200));
    const list = await lookUp(newNifs(PER_MINUTE), key);
    expect(statusesOf(list).filter((status: number) => status === 503)).toHaveLength(4);
    await eventually(async () => (await api.ledger({ accountId })).used, PER_MINUTE);
    expect(await refreshesOf(accountId)).toBe(PER_MINUTE);
    await setMinute(accountId, 30);
    const answer = await look(nif(next++), key, other);
    const untilMs = refusedUntil(answer.body, 'a Free account has in a minute');
    expect(untilMs - Date.now()).toBeWithin(10_000, 30_001);
    expect(Number(answer.headers.get('Retry-After'))).toBeWithin(10, 31);
    await setMinute(accountId, 60);
    const clock = stopClock();
    clock.pass(MINUTE);
    expect((await look(nif(next++), key)).status).toBe(200);
    clock.restore();
    await other.stop();
  });

  test('Plus is not bounded, and an account with its own limit has half of its requests a minute', async () => {
    const plus = await api.caller({ plan: 'plus' });
    const own = await api.caller({ limits: { requestsPerMinute: 27 } });
    for (const [{ accountId, key }, most] of [
      [plus, 20],
      [own, 14],
    ] as const) {
      for (let batch = 0; batch < 2; batch += 1) await lookUp(newNifs(10), key);
      expect(await refreshesOf(accountId)).toBe(most);
    }
  });
});

describe('of all accounts together (REFRESHES_PER_DAY)', () => {
  test('Free accounts have half, paying ones the rest; exact over instances; the operator is warned once', async () => {
    const env = { REFRESHES_PER_DAY: '31' };
    const instances = [await api.startInstance(env), await api.startInstance(env)] as const;
    const at = (index: number) => instances[index % 2]!;
    const warned = () =>
      instances.flatMap(({ logLines }) =>
        logLines.filter(({ msg }) => msg === 'half of the refreshes of the day are used up'),
      );
    await setAll(99, 99, 1);
    const free = [await api.caller(plenty), await api.caller(plenty), await api.caller(plenty)];
    const plus = await api.caller({ plan: 'plus' });
    const ofFree = await Promise.all(
      newNifs(21).map((number, index) => look(number, free[index % 3]!.key, at(index))),
    );
    const refused = ofFree.filter(({ status }) => status === 503);
    expect([ofFree.filter(({ status }) => status === 200).length, refused.length]).toEqual([15, 6]);
    // Free accounts alone get no further than this, so the operator knows by now.
    expect(warned()).toEqual([expect.objectContaining({ level: 40, refreshes: 15, of: 31 })]);
    for (const answer of refused) {
      expectUntilMidnight(answer, 'of all Free accounts together', Date.now() - 60_000);
    }
    const ofPlus = await Promise.all(newNifs(18).map((number, index) => look(number, plus.key, at(index))));
    expect(ofPlus.filter(({ status }) => status === 200)).toHaveLength(16);
    expectUntilMidnight(
      ofPlus.find(({ status }) => status === 503)!,
      'of all accounts together',
      Date.now() - 60_000,
    );
    expect(warned()).toHaveLength(1);
    // A refused refresh counts against no bound, and costs nothing.
    let [taken, used] = [0, 0];
    for (const { accountId } of [...free, plus]) {
      taken += await refreshesOf(accountId);
      await eventually(async () => (await api.ledger({ accountId })).used, await refreshesOf(accountId));
      used += (await api.ledger({ accountId })).used;
    }
    expect([taken, used]).toEqual([31, 31]);
    const seen = await Promise.all(instances.map((instance) => metric('refreshes_today', instance)));
    expect(Math.max(...seen)).toBe(31);
    expect(await metric('refreshes_per_day', instances[0])).toBe(31);
    await Promise.all(instances.map((instance) => instance.stop()));
  });

  test('without the variable nothing bounds them, and they are counted', async () => {
    await setAll(1_000_000, 1_000_000);
    const { key } = await api.caller();
    expect((await look(nif(next++), key)).status).toBe(200);
    expect(await metric('refreshes_today')).toBe(1_000_001);
    expect(await metric('refreshes_per_day')).toBeNaN();
    await setAll(0, 0);
  });

  test('yesterday counts for nothing, also in a process that has taken none today', async () => {
    const bounds = createRefreshBounds(api.sql, 1, createLogTo({ write() {} }));
    const { accountId } = await api.caller({ plan: 'plus' });
    const payer = { accountId, plan: 'plus' as const, requestsPerMinute: 60 };
    expect(bounds.today()).toBe(0);
    await setAll(500, 500, 1);
    await bounds.take(payer);
    expect(bounds.today()).toBe(1);
    await expect(bounds.take(payer)).rejects.toThrow(RefreshesUsedUpError);
    setSystemTime(new Date(Date.now() + DAY_MS));
    expect(bounds.today()).toBe(0);
    setSystemTime();
  });
});

describe('what a process knows to be beyond a bound', () => {
  let bounded: Instance;
  const lookThere = (number: string, key: string) => look(number, key, bounded);
  beforeAll(async () => {
    bounded = await api.startInstance({ REFRESHES_PER_DAY: '1000' });
    // It meets the bound.
    await setAll(1000);
    const { key } = await api.caller({ plan: 'plus', ...plenty });
    expect((await lookThere(nif(next++), key)).status).toBe(503);
  });
  afterAll(async () => {
    await setAll(0);
    await bounded.stop();
  });

  /** Credits of an account's charges and returns, from the journal and the days. */
  async function creditsMoved(accountId: string): Promise<number> {
    const [row] = await api.sql<{ moved: number }[]>`
      SELECT coalesce(sum(abs(credits)), 0)::bigint AS moved FROM (
        SELECT calls AS credits FROM journal_counts WHERE account_id = ${accountId}
        UNION ALL SELECT credits FROM activity WHERE account_id = ${accountId} AND kind <> 'answer'
        UNION ALL SELECT unnest(calls) FROM call_journal WHERE owed AND account_ids[1] = ${accountId}) AS row`;
    return row!.moved;
  }

  test('is not charged, alone and in a list, and the rest is', async () => {
    const { accountId, key } = await api.caller({ plan: 'plus', ...plenty, included: 100 });
    const [fresh, unknown, other] = newNifs(3);
    await setAll(0);
    expect((await look(fresh!, key)).status).toBe(200);
    await setAll(1000);
    const before = await creditsMoved(accountId);
    const refused = await lookThere(nif(next++), key);
    expect([refused.status, refused.headers.get('X-Credits')]).toEqual([503, '0']);
    expectUntilMidnight(refused, 'of all accounts together', Date.now() - 60_000);
    const all = await lookUp([unknown!, other!], key, bounded);
    expect([statusesOf(all), all.headers.get('X-Credits')]).toEqual([[503, 503], '0']);
    expect(all.body.data[0].problem).toMatchObject({
      detail: refused.body.detail,
      retryAfter: expect.any(Number),
    });
    expect(await creditsMoved(accountId)).toBe(before);
    const some = await lookUp([unknown!, fresh!, 'x', other!], key, bounded);
    expect([statusesOf(some), some.headers.get('X-Credits')]).toEqual([[503, 200, 400, 503], '2']);
    expect((await lookThere(fresh!, key)).headers.get('X-Credits')).toBe('1');
    expect((await api.ledger({ accountId })).used).toBe(4);
  });

  test('an account or a key with nothing left is refused for that first, also after a period or a window', async () => {
    const { accountId } = await api.caller({ plan: 'plus', ...plenty, included: 2 });
    const keyOf = async (credits: number, per: 'day' | 'ever') => {
      const key = generateSecret();
      await createKey(api.sql, accountId, '', 'test', null, key, { budget: { credits, per }, only: null });
      return key;
    };
    const [none, daily, free] = [await keyOf(0, 'ever'), await keyOf(1, 'day'), await keyOf(9, 'ever')];
    const told = async (key: string) => (await lookThere(nif(next++), key)).kind;
    const spendOne = async (key: string) =>
      expect((await ask(bounded, '/companies?q=empresa', { key })).status).toBe(200);
    expect([await told(none), await told(daily)]).toEqual(['key-budget-spent', 'service-unavailable']);
    await spendOne(daily);
    expect(await told(daily)).toBe('key-budget-exceeded');
    await api.sql`UPDATE key_budgets SET window_start = window_start - interval '1 day' WHERE per = 'day'`;
    expect(await told(daily)).toBe('service-unavailable');
    await spendOne(free);
    expect([await told(free), await told(daily)]).toEqual(Array(2).fill('monthly-quota-exceeded'));
    const list = await lookUp(newNifs(1), free, bounded);
    expect([list.status, list.kind]).toEqual([429, 'monthly-quota-exceeded']);
    await api.sql`UPDATE balances SET credits = 1 WHERE account_id = ${accountId}`;
    expect(await told(free)).toBe('service-unavailable');
    await api.sql`UPDATE balances SET credits = 0 WHERE account_id = ${accountId}`;
    await changePlan(api.sql, accountId, 'free', {}, 'test');
    expect(await told(free)).toBe('service-unavailable');
  });

  test('but a refresh under way and a "not found" of the last minutes are charged and answered', async () => {
    const { accountId, key } = await api.caller({ plan: 'plus', ...plenty });
    const [running, unknown] = newNifs(2) as [string, string];
    // The other instance knows nothing of the bound and meets none.
    await setAll(0);
    api.provider.answer(unknown, nifPtNotFound());
    expect((await look(unknown, key)).status).toBe(404);
    api.provider.hold();
    const first = look(running, key);
    await until('the question', () => asked(running) === 1);
    const second = lookThere(running, key);
    const notFound = await lookThere(unknown, key);
    expect([notFound.status, notFound.headers.get('X-Credits')]).toEqual([404, '1']);
    await until('its charge', async () => (await api.ledger({ accountId })).used === 4);
    api.provider.release();
    for (const { status, headers } of await Promise.all([first, second]))
      expect([status, headers.get('X-Credits')]).toEqual([200, '1']);
  });

  test('is no bound of another account, nor of the account once its limit is raised', async () => {
    const [poor, rich] = [await api.caller(), await api.caller()];
    await setRefreshes(poor.accountId, PER_DAY);
    const company = nif(next++);
    for (let i = 0; i < 2; i += 1)
      expect((await look(company, poor.key)).body.detail).toContain('of the day (UTC)');
    expect((await look(company, rich.key)).status).toBe(200);
    // What is stored now is for all.
    expect((await look(company, poor.key)).status).toBe(200);
    await changePlan(api.sql, poor.accountId, 'plus', {}, 'test');
    await until('the plan', async () => (await look(nif(next++), poor.key)).status === 200);
  });
});
