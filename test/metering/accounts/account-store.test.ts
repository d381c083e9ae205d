import { afterAll, describe, expect, test } from 'bun:test';
import { createAccount, findAccount, listAccounts } from '../../../src/metering/accounts/account-store.ts';
import { changeLimits, changePlan, setSuspended } from '../../../src/metering/accounts/changes.ts';
import { createTestDatabase } from '../../support/database.ts';

const database = await createTestDatabase('accounts');
const sql = database.sql;
afterAll(() => database.drop());

const create = async (plan: 'free' | 'plus' = 'free') =>
  (await createAccount(sql, { name: 'Test', plan }, 'cli:ana')).id;

/** The ledger's rows of an account: kind, actor, detail. */
const eventsOf = async (id: string) => {
  const rows = await sql`SELECT kind, actor, detail FROM account_events WHERE account_id = ${id} ORDER BY id`;
  return rows.map(({ kind, actor, detail }) => [kind, actor, detail]);
};

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000);

describe('the ledger', () => {
  test('has a row for every change that says who, and what came of it', async () => {
    const id = await create();
    await changeLimits(sql, id, { requestsPerMinute: 7 }, 'cli:rui');
    await changePlan(sql, id, 'plus', { periodStart: new Date('2026-01-31T00:00:00Z') }, 'cli:eva');
    await setSuspended(sql, id, true, 'cli:eva');
    await setSuspended(sql, id, false, 'cli:rui');
    await changePlan(sql, id, 'free', {}, 'cli:ana');
    expect(await eventsOf(id)).toEqual([
      ['created', 'cli:ana', { plan: 'free', periodStart: null, until: null }],
      ['limits', 'cli:rui', { requestsPerMinute: 7, includedCredits: 500, spendPurchased: true }],
      ['plan', 'cli:eva', { plan: 'plus', periodStart: '2026-01-31T00:00:00.000Z', until: null }],
      ['suspended', 'cli:eva', {}],
      ['resumed', 'cli:rui', {}],
      ['plan', 'cli:ana', { plan: 'free', periodStart: null, until: null }],
    ]);
  });

  test('has no row for what changed nothing', async () => {
    const id = await create();
    await changePlan(sql, id, 'free', {}, 'test');
    await changeLimits(sql, id, {}, 'test');
    await setSuspended(sql, id, false, 'test');
    expect(await eventsOf(id)).toHaveLength(1);
  });
});

describe('a change of plan', () => {
  test('to Plus counts periods from its start, to Free opens one now that ends with the month', async () => {
    const id = await create();
    const before = Date.now();
    const plus = await changePlan(sql, id, 'plus', {}, 'test');
    expect(plus).toMatchObject({
      plan: 'plus',
      used: 0,
      includedCredits: 1250,
      requestsPerMinute: 60,
      keyLimit: 10_000,
    });
    expect(plus.period.start.getTime()).toBeWithin(before - 1000, Date.now() + 1000);
    const free = await changePlan(sql, id, 'free', {}, 'test');
    expect(free).toMatchObject({
      plan: 'free',
      used: 0,
      includedCredits: 500,
      requestsPerMinute: 20,
      keyLimit: 2,
    });
    expect(free.period.start.getTime()).toBeWithin(plus.period.start.getTime(), Date.now() + 1000);
    expect(free.period.end.toISOString()).toMatch(/-01T00:00:00\.000Z$/);
    // The next month is a whole one.
    const next = (await findAccount(sql, id, free.period.end))!.period;
    expect(next.start).toEqual(free.period.end);
  });

  test('to Plus again is a new period with nothing used, and takes the lapse away', async () => {
    const id = await create('plus');
    await changePlan(sql, id, 'plus', { until: inHours(1) }, 'test');
    await sql`UPDATE balances SET used = 9 WHERE account_id = ${id}`;
    const renewed = await changePlan(sql, id, 'plus', {}, 'test');
    expect(renewed).toMatchObject({ plan: 'plus', used: 0 });
    expect((await findAccount(sql, id, inHours(2)))!.plan).toBe('plus');
  });

  test('of a lapsed subscription to Free is no change; to Plus it is one', async () => {
    const { id, plan } = await createAccount(
      sql,
      {
        name: 'x',
        plan: 'plus',
        periodStart: new Date('2026-01-01T00:00:00Z'),
        until: new Date('2026-02-01T00:00:00Z'),
      },
      'test',
    );
    expect(plan).toBe('free');
    await sql`UPDATE balances SET used = 4 WHERE account_id = ${id}`;
    expect((await changePlan(sql, id, 'free', {}, 'test')).used).toBe(4);
    expect(await changePlan(sql, id, 'plus', {}, 'test')).toMatchObject({ plan: 'plus', used: 0 });
  });

  test('keeps purchased credits and limits of the account’s own', async () => {
    const id = await create();
    await sql`UPDATE balances SET credits = 11 WHERE account_id = ${id}`;
    await changeLimits(sql, id, { requestsPerMinute: 7, includedCredits: 9 }, 'test');
    for (const plan of ['plus', 'free'] as const) {
      expect(await changePlan(sql, id, plan, {}, 'test')).toMatchObject({
        credits: 11,
        requestsPerMinute: 7,
        includedCredits: 9,
      });
    }
  });

  test('with a start in the future, or an end before it, is refused and changes nothing', async () => {
    const id = await create();
    const refused = [
      { periodStart: inHours(1) },
      { until: inHours(-1) },
      { periodStart: new Date('2026-02-01T00:00:00Z'), until: new Date('2026-02-01T00:00:00Z') },
    ];
    for (const terms of refused) {
      const outcome = await changePlan(sql, id, 'plus', terms, 'test').catch((error) => error);
      expect(outcome).toBeInstanceOf(Error);
    }
    expect((await findAccount(sql, id))!.plan).toBe('free');
    expect(await eventsOf(id)).toHaveLength(1);
  });
});

test('a list shows the effective plan: a lapsed Plus is Free', async () => {
  const terms = { periodStart: new Date('2026-01-01T00:00:00Z'), until: new Date('2026-02-01T00:00:00Z') };
  const { id } = await createAccount(sql, { name: 'Lapsed', plan: 'plus', ...terms }, 'test');
  const listed = (await listAccounts(sql)).find((account) => account.id === id);
  expect({ ...listed! }).toEqual({
    id,
    name: 'Lapsed',
    plan: 'free',
    credits: 0,
    suspended: false,
    emails: [],
  });
});

/** Makes a user who signs in to the account. */
async function addMember(accountId: string, email: string): Promise<void> {
  await sql`INSERT INTO dashboard_users ("id", "name", "email", "emailVerified") VALUES (${email}, 'Maria', ${email}, true)`;
  await sql`INSERT INTO dashboard_members (user_id, account_id) VALUES (${email}, ${accountId})`;
}

test('a list has each account’s emails, and finds an account by one in any case', async () => {
  const [one, other] = [await create(), await create()];
  await addMember(one, 'rui@example.com');
  await addMember(one, 'ana@example.com');
  await addMember(other, 'eva@example.com');
  const idsOf = async (filter: object) => (await listAccounts(sql, filter)).map(({ id }) => id);
  const listed = await listAccounts(sql, { email: 'Ana@Example.com' });
  expect(listed.map(({ id, emails }) => [id, emails])).toEqual([
    [one, ['ana@example.com', 'rui@example.com']],
  ]);
  expect(await idsOf({ email: 'eva@example.com' })).toEqual([other]);
  expect(await idsOf({ email: 'ana@example' })).toEqual([]);
  expect(await idsOf({})).toContain(other);
});

test('a list finds accounts that have used at least a share of their own allowance in the present period', async () => {
  const withUse = async (used: number, included: number | null) => {
    const id = await create();
    await sql`UPDATE balances SET used = ${used}, included_credits = ${included} WHERE account_id = ${id}`;
    return id;
  };
  const below = await withUse(399, null);
  const at = await withUse(400, null);
  const beyond = await withUse(12, 10);
  const over = await withUse(400, null);
  await sql`UPDATE balances SET period_end = now() WHERE account_id = ${over}`;
  const found = async (filter: object) => {
    const ids = (await listAccounts(sql, filter)).map(({ id }) => id);
    return [below, at, beyond, over].filter((id) => ids.includes(id));
  };
  expect(await found({ above: 80 })).toEqual([at, beyond]);
  expect(await found({ above: 120 })).toEqual([beyond]);
  expect(await found({ above: 121 })).toEqual([]);
  await addMember(at, 'at@example.com');
  expect(await found({ above: 80, email: 'at@example.com' })).toEqual([at]);
});

test('ids never begin with a hyphen and need no escaping anywhere', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => create()));
  for (const id of ids) expect(id).toMatch(/^acc_[0-9a-z]{16}$/);
  expect(new Set(ids).size).toBe(20);
});
