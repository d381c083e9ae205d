import { afterAll, expect, test } from 'bun:test';
import { grantCredits, MAX_BALANCE } from '../../../src/metering/accounts/grant.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { RefusedError } from '../../../src/platform/errors.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createCaller } from '../../support/service.ts';
import { chargeMany, ledgerOf } from '../credits/ledger.ts';

const database = await createTestDatabase('grants');
const sql = database.sql;
afterAll(() => database.drop());

const events = async (id: string) => {
  const rows = await sql`
    SELECT actor, credits, balance, note, reference FROM account_events
    WHERE account_id = ${id} AND kind = 'credits' ORDER BY id`;
  return rows.map((row) => ({ ...row }));
};

test('a grant answers the balance and leaves a row that says who, how many and why', async () => {
  const { accountId } = await createCaller(sql);
  expect(await grantCredits(sql, accountId, { credits: 5, note: 'gift' }, 'cli:ana')).toBe(5);
  expect(await grantCredits(sql, accountId, { credits: 7, reference: 'inv-1' }, 'cli:rui')).toBe(12);
  expect(await events(accountId)).toEqual([
    { actor: 'cli:ana', credits: 5, balance: 5, note: 'gift', reference: null },
    { actor: 'cli:rui', credits: 7, balance: 12, note: '', reference: 'inv-1' },
  ]);
});

test('the same reference twice adds once and answers the balance as it is', async () => {
  const { accountId } = await createCaller(sql);
  const sale = { credits: 10, reference: 'inv-2' };
  expect(await grantCredits(sql, accountId, sale, 'test')).toBe(10);
  await grantCredits(sql, accountId, { credits: 1 }, 'test');
  expect(await grantCredits(sql, accountId, sale, 'test')).toBe(11);
  expect(await events(accountId)).toHaveLength(2);
});

test('the same reference ten times at once adds once', async () => {
  const { accountId } = await createCaller(sql);
  const sale = { credits: 10, reference: 'inv-3' };
  const balances = await Promise.all(
    Array.from({ length: 10 }, () => grantCredits(sql, accountId, sale, 'test')),
  );
  expect(new Set(balances)).toEqual(new Set([10]));
  expect(await events(accountId)).toHaveLength(1);
});

test('a reference counts for its account alone', async () => {
  const [one, other] = [await createCaller(sql), await createCaller(sql)];
  expect(await grantCredits(sql, one.accountId, { credits: 1, reference: 'shared' }, 'test')).toBe(1);
  expect(await grantCredits(sql, other.accountId, { credits: 2, reference: 'shared' }, 'test')).toBe(2);
});

test('a reference that stands for another amount is refused and adds nothing', async () => {
  const { accountId } = await createCaller(sql);
  await grantCredits(sql, accountId, { credits: 1, reference: 'inv-4' }, 'test');
  const again = grantCredits(sql, accountId, { credits: 2, reference: 'inv-4' }, 'test');
  await expect(again).rejects.toThrow('already stands for 1 credits');
  await again.catch(() => {});
  expect(await grantCredits(sql, accountId, { credits: 1 }, 'test')).toBe(2);
});

test('a balance beyond the most that an account can hold is refused', async () => {
  const { accountId } = await createCaller(sql, { credits: MAX_BALANCE });
  const beyond = grantCredits(sql, accountId, { credits: 1 }, 'test');
  await expect(beyond).rejects.toBeInstanceOf(RefusedError);
  await beyond.catch(() => {});
  expect((await events(accountId)).map(({ balance }) => balance)).toEqual([MAX_BALANCE]);
});

test('the same reference answers the same where adding it again would be too much', async () => {
  const { accountId } = await createCaller(sql);
  const most = { credits: 0.6 * MAX_BALANCE, reference: 'big' };
  expect(await grantCredits(sql, accountId, most, 'test')).toBe(0.6 * MAX_BALANCE);
  expect(await grantCredits(sql, accountId, most, 'test')).toBe(0.6 * MAX_BALANCE);
  for (const grant of [
    { ...most, reference: 'other' },
    { credits: MAX_BALANCE, reference: 'big' },
  ]) {
    const refused = grantCredits(sql, accountId, grant, 'test');
    await expect(refused).rejects.toBeInstanceOf(RefusedError);
    await refused.catch(() => {});
  }
  expect((await events(accountId)).map(({ reference }) => reference)).toEqual(['big']);
});

test('credits that were granted by mistake are taken back, and the ledger has both', async () => {
  const { accountId } = await createCaller(sql);
  await grantCredits(sql, accountId, { credits: 1000, reference: 'inv-5' }, 'cli:ana');
  const back = { credits: -900, note: 'a typing error', reference: 'inv-5 corrected' };
  expect(await grantCredits(sql, accountId, back, 'cli:ana')).toBe(100);
  expect(await grantCredits(sql, accountId, back, 'cli:ana')).toBe(100);
  expect(await events(accountId)).toEqual([
    { actor: 'cli:ana', credits: 1000, balance: 1000, note: '', reference: 'inv-5' },
    { actor: 'cli:ana', balance: 100, ...back },
  ]);
});

test('only unspent credits are taken back, and the refusal says how many are left', async () => {
  const { accountId } = await createCaller(sql, { included: 0, credits: 10 });
  await chargeMany(createCredits(sql), accountId, 4);
  const tooMany = grantCredits(sql, accountId, { credits: -7 }, 'test');
  await expect(tooMany).rejects.toThrow('only 6 purchased credits are unspent');
  expect(await events(accountId)).toHaveLength(1);
  expect(await grantCredits(sql, accountId, { credits: -6 }, 'test')).toBe(0);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 4, credits: 0, calls: 4 });
});

test('calls and take-backs at the same time share the credits, and none is spent and taken back', async () => {
  const { accountId } = await createCaller(sql, { included: 0, credits: 50 });
  const credits = createCredits(sql);
  const take = () =>
    grantCredits(sql, accountId, { credits: -2 }, 'test').then(
      () => 2,
      (error) => {
        expect(error).toBeInstanceOf(RefusedError);
        return 0;
      },
    );
  const [{ charged }, ...taken] = await Promise.all([
    chargeMany(credits, accountId, 40),
    ...Array.from({ length: 20 }, take),
  ]);
  const back = taken.reduce((sum, one) => sum + one, 0);
  expect(await ledgerOf(sql, accountId)).toEqual({
    used: charged,
    credits: 50 - charged - back,
    calls: charged,
  });
});

test('an unknown account is refused', async () => {
  await expect(grantCredits(sql, 'acc_none', { credits: 1 }, 'test')).rejects.toThrow(
    'there is no account "acc_none"',
  );
});

test('grants and charges at the same time lose nothing', async () => {
  const { accountId } = await createCaller(sql, { included: 0, credits: 50 });
  const credits = createCredits(sql);
  const [{ charged }] = await Promise.all([
    chargeMany(credits, accountId, 60),
    ...Array.from({ length: 20 }, () => grantCredits(sql, accountId, { credits: 1 }, 'test')),
  ]);
  expect(await ledgerOf(sql, accountId)).toEqual({ used: charged, credits: 70 - charged, calls: charged });
});
