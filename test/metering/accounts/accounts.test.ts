import { describe, expect, test } from 'bun:test';
import { createUser } from '../../../src/dashboard/account/invitations.ts';
import { actorOf, changeMember, listMembers } from '../../../src/dashboard/auth/members.ts';
import { createAccount, listAccounts, requireAccount } from '../../../src/metering/accounts/account-store.ts';
import { changeLimits, changePlan, setSuspended } from '../../../src/metering/accounts/changes.ts';
import type { Actor } from '../../../src/metering/accounts/events.ts';
import { grantCredits, MAX_BALANCE } from '../../../src/metering/accounts/grant.ts';
import { lockForOwner, NotOwnerError } from '../../../src/metering/accounts/rights.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { RefusedError } from '../../../src/platform/errors.ts';
import { createCaller } from '../../support/service.ts';
import { chargeMany, ledgerOf } from '../credits/ledger.ts';
import { createClockedDatabase, createTestClock } from './account-at.ts';

const sql = await createClockedDatabase('accounts');

const create = async (plan: 'free' | 'plus' = 'free') =>
  (await createAccount(sql, { name: 'Test', plan }, 'cli:ana')).id;

/** The ledger's rows of an account: kind, actor, detail. */
const eventsOf = async (id: string) => {
  const rows = await sql`SELECT kind, actor, detail FROM account_events WHERE account_id = ${id} ORDER BY id`;
  return rows.map(({ kind, actor, detail }) => [kind, actor, detail]);
};

/** An account as it will stand at an instant. */
const accountAt = async (id: string, instant: Date) => {
  await createTestClock(sql, instant.toISOString());
  return requireAccount(sql, id);
};

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000);

/** A subscription of the past. */
const LAPSED = {
  ...({ name: 'Lapsed', plan: 'plus' } as const),
  periodStart: new Date('2026-01-01T00:00:00Z'),
  until: new Date('2026-02-01T00:00:00Z'),
};

describe('the ledger', () => {
  test('has a row for every change that says who, and what came of it, and none for what changed nothing', async () => {
    const id = await create();
    await changePlan(sql, id, 'free', {}, 'test');
    await changeLimits(sql, id, {}, 'test');
    await setSuspended(sql, id, false, 'test');
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
});

describe('a change of plan', () => {
  test('to Plus counts periods from its start, to Free opens one now that ends with the month', async () => {
    const id = await create();
    const before = Date.now();
    const plus = await changePlan(sql, id, 'plus', {}, 'test');
    const ofPlus = { plan: 'plus', includedCredits: 1250, requestsPerMinute: 60, keyLimit: 10_000 } as const;
    expect(plus).toMatchObject({ ...ofPlus, used: 0 });
    expect(plus.period.start.getTime()).toBeWithin(before - 1000, Date.now() + 1000);
    const free = await changePlan(sql, id, 'free', {}, 'test');
    const ofFree = { plan: 'free', includedCredits: 500, requestsPerMinute: 20, keyLimit: 2 } as const;
    expect(free).toMatchObject({ ...ofFree, used: 0 });
    expect(free.period.start.getTime()).toBeWithin(plus.period.start.getTime(), Date.now() + 1000);
    expect(free.period.end.toISOString()).toMatch(/-01T00:00:00\.000Z$/);
    // The next month is a whole one.
    const next = (await accountAt(id, free.period.end)).period;
    expect(next.start).toEqual(free.period.end);
  });

  test('to Plus again is a new period with nothing used, and takes the lapse away', async () => {
    const id = await create('plus');
    await changePlan(sql, id, 'plus', { until: inHours(1) }, 'test');
    await sql`UPDATE balances SET used = 9 WHERE account_id = ${id}`;
    const renewed = await changePlan(sql, id, 'plus', {}, 'test');
    expect(renewed).toMatchObject({ plan: 'plus', used: 0 });
    expect((await accountAt(id, inHours(2))).plan).toBe('plus');
  });

  test('of a lapsed subscription to Free is no change; to Plus it is one', async () => {
    const { id, plan } = await createAccount(sql, LAPSED, 'test');
    expect(plan).toBe('free');
    await sql`UPDATE balances SET used = 4 WHERE account_id = ${id}`;
    expect((await changePlan(sql, id, 'free', {}, 'test')).used).toBe(4);
    expect(await changePlan(sql, id, 'plus', {}, 'test')).toMatchObject({ plan: 'plus', used: 0 });
  });

  test('keeps purchased credits and limits of the account’s own', async () => {
    const id = await create();
    await sql`UPDATE balances SET credits = 11 WHERE account_id = ${id}`;
    const own = { requestsPerMinute: 7, includedCredits: 9 };
    await changeLimits(sql, id, own, 'test');
    for (const plan of ['plus', 'free'] as const)
      expect(await changePlan(sql, id, plan, {}, 'test')).toMatchObject({ ...own, credits: 11 });
  });

  test('with a start in the future, or an end before it, is refused and changes nothing', async () => {
    const id = await create();
    const refused = [
      { periodStart: inHours(1) },
      { until: inHours(-1) },
      { periodStart: LAPSED.until, until: LAPSED.until },
    ];
    for (const terms of refused) {
      const outcome = await changePlan(sql, id, 'plus', terms, 'test').catch((error) => error);
      expect(outcome).toBeInstanceOf(Error);
    }
    expect((await requireAccount(sql, id)).plan).toBe('free');
    expect(await eventsOf(id)).toHaveLength(1);
  });
});

test('a list shows the effective plan: a lapsed Plus is Free', async () => {
  const { id } = await createAccount(sql, LAPSED, 'test');
  const listed = (await listAccounts(sql)).find((account) => account.id === id);
  const account = { id, name: 'Lapsed', plan: 'free' as const, credits: 0, suspended: false, emails: [] };
  expect({ ...listed! }).toEqual(account);
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

const events = async (id: string) => {
  const rows = await sql`
    SELECT actor, credits, balance, note, reference FROM account_events
    WHERE account_id = ${id} AND kind = 'credits' ORDER BY id`;
  return rows.map((row) => ({ ...row }));
};

/** Grants credits. @returns the balance, or the reason of a refusal */
const grant = (accountId: string, terms: Parameters<typeof grantCredits>[2], actor: Actor = 'test') =>
  grantCredits(sql, accountId, terms, actor).catch((error) => {
    expect(error).toBeInstanceOf(RefusedError);
    return String(error);
  });

test('a grant answers the balance and leaves a row that says who, how many and why', async () => {
  const { accountId } = await createCaller(sql);
  expect(await grant(accountId, { credits: 5, note: 'gift' }, 'cli:ana')).toBe(5);
  expect(await grant(accountId, { credits: 7, reference: 'inv-1' }, 'cli:rui')).toBe(12);
  expect(await events(accountId)).toEqual([
    { actor: 'cli:ana', credits: 5, balance: 5, note: 'gift', reference: null },
    { actor: 'cli:rui', credits: 7, balance: 12, note: '', reference: 'inv-1' },
  ]);
  expect(await grant('acc_none', { credits: 1 })).toContain('there is no account "acc_none"');
});

test('the same reference adds once, also ten times at once, and answers the balance as it is', async () => {
  const { accountId } = await createCaller(sql);
  const sale = { credits: 10, reference: 'inv-2' };
  const balances = await Promise.all(Array.from({ length: 10 }, () => grant(accountId, sale)));
  expect(new Set(balances)).toEqual(new Set([10]));
  await grant(accountId, { credits: 1 });
  expect(await grant(accountId, sale)).toBe(11);
  expect(await events(accountId)).toHaveLength(2);
});

test('a reference counts for its account alone, and for one amount: another is refused and adds nothing', async () => {
  const [one, other] = [await createCaller(sql), await createCaller(sql)];
  const reference = 'shared';
  expect(await grant(one.accountId, { credits: 1, reference })).toBe(1);
  expect(await grant(other.accountId, { credits: 2, reference })).toBe(2);
  expect(await grant(one.accountId, { credits: 2, reference })).toContain('already stands for 1 credits');
  expect(await grant(one.accountId, { credits: 1 })).toBe(2);
});

test('the same reference answers the same where adding it again would be too much', async () => {
  const { accountId } = await createCaller(sql);
  const most = { credits: 0.6 * MAX_BALANCE, reference: 'big' };
  expect(await grant(accountId, most)).toBe(0.6 * MAX_BALANCE);
  expect(await grant(accountId, most)).toBe(0.6 * MAX_BALANCE);
  for (const beyond of [{ reference: 'other' }, { credits: MAX_BALANCE }])
    expect(await grant(accountId, { ...most, ...beyond })).toBeString();
  expect((await events(accountId)).map(({ reference }) => reference)).toEqual(['big']);
});

test('credits that were granted by mistake are taken back, and the ledger has both', async () => {
  const { accountId } = await createCaller(sql);
  await grant(accountId, { credits: 1000, reference: 'inv-5' }, 'cli:ana');
  const back = { credits: -900, note: 'a typing error', reference: 'inv-5 corrected' };
  expect(await grant(accountId, back, 'cli:ana')).toBe(100);
  expect(await grant(accountId, back, 'cli:ana')).toBe(100);
  expect(await events(accountId)).toEqual([
    { actor: 'cli:ana', credits: 1000, balance: 1000, note: '', reference: 'inv-5' },
    { actor: 'cli:ana', balance: 100, ...back },
  ]);
});

test('only unspent credits are taken back, and the refusal says how many are left', async () => {
  const { accountId } = await createCaller(sql, { included: 0, credits: 10 });
  await chargeMany(createCredits(sql), accountId, 4);
  expect(await grant(accountId, { credits: -7 })).toContain('only 6 purchased credits are unspent');
  expect(await events(accountId)).toHaveLength(1);
  expect(await grant(accountId, { credits: -6 })).toBe(0);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 4, credits: 0, calls: 4 });
});

test('calls and take-backs at the same time share the credits, and none is spent and taken back', async () => {
  const { accountId } = await createCaller(sql, { included: 0, credits: 50 });
  const [{ charged }, ...outcomes] = await Promise.all([
    chargeMany(createCredits(sql), accountId, 40),
    ...Array.from({ length: 20 }, () => grant(accountId, { credits: -2 })),
  ]);
  const back = 2 * outcomes.filter((outcome) => typeof outcome === 'number').length;
  const expected = { used: charged, credits: 50 - charged - back, calls: charged };
  expect(await ledgerOf(sql, accountId)).toEqual(expected);
});

const isAllowed = (accountId: string, actor: Actor) =>
  sql
    .begin((sql) => lockForOwner(sql, accountId, actor))
    .then(
      () => true,
      (error) => (error instanceof NotOwnerError ? false : Promise.reject(error)),
    );

test('owners and operators make changes that want an owner; members, former owners and owners of other accounts do not', async () => {
  const { accountId } = await createCaller(sql);
  const other = await createCaller(sql);
  for (const [id, email] of [
    [accountId, 'ada@example.com'],
    [accountId, 'rex@example.com'],
    [other.accountId, 'zoe@example.com'],
  ] as const)
    await createUser(sql, id, { email, name: 'Someone', password: 'a long password' }, 'test');
  const [ada, rex] = await listMembers(sql, accountId);
  const [zoe] = await listMembers(sql, other.accountId);

  expect(await isAllowed(accountId, 'cli:op')).toBe(true);
  expect(await isAllowed(accountId, actorOf(rex!))).toBe(true);
  expect(await isAllowed(accountId, actorOf(zoe!))).toBe(false);
  const change = (to: 'member' | 'removed') =>
    changeMember(sql, accountId, ({ id }) => id === rex!.id, to, actorOf(ada!));
  for (const end of ['member', 'removed'] as const) {
    await change(end);
    expect(await isAllowed(accountId, actorOf(rex!))).toBe(false);
  }
  expect(await isAllowed(accountId, actorOf(ada!))).toBe(true);
});
