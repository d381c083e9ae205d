/** The first row of the overview: what is left, what was paid, and what happens at 0. */
import { afterAll, expect, test } from 'bun:test';
import { changeLimits, setSuspended } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import type { UsageAnswer } from '../../../src/metering/usage/usage-schema.ts';
import { startDashboardService, storeCalls } from '../service.ts';
import { createMember, createMemberWithKey } from '../visitor.ts';

const service = await startDashboardService({
  BUY_URL: 'https://shop.example/buy?account={account}',
  PLUS_PRICE: '29 € <a month>',
  CREDITS_PRICE: '10 EUR 1000',
});
afterAll(() => service.stop());

test('a lowered limit is no payment: only purchased credits that the ledger has spent are called so', async () => {
  const { visitor, accountId } = await createMember(service);
  await service.sql`UPDATE balances SET used = 93 WHERE account_id = ${accountId}`;
  await changeLimits(service.sql, accountId, { includedCredits: 50 }, 'test');
  const lowered = await visitor.get('/dashboard');
  expect([lowered.textOf('[data-beyond]'), lowered.textOf('[data-figure=used]')]).toEqual([null, '93']);
  await grantCredits(service.sql, accountId, { credits: 7 }, 'test');
  await service.sql`UPDATE balances SET used = 96, used_purchased = 3, credits = 4 WHERE account_id = ${accountId}`;
  expect((await visitor.get('/dashboard')).textOf('[data-beyond]')).toStartWith(
    '3 of them beyond the allowance. Each was paid with a purchased credit.',
  );
});

test('a suspended account has nothing to spend and nothing to buy', async () => {
  const { visitor, accountId, email, password } = await createMember(service);
  const isBuying = async () =>
    (await visitor.get('/dashboard')).document.querySelector('.at-zero .button') !== null;
  expect(await isBuying()).toBe(true);
  await setSuspended(service.sql, accountId, true, 'test');
  await visitor.submit('/dashboard/sign-in', { email, password });
  const page = await visitor.get('/dashboard');
  expect([page.textOf('.stock-row.suspended .big'), page.textOf('[data-figure=available]')]).toEqual([
    'Suspended',
    null,
  ]);
  expect(await isBuying()).toBe(false);
});

test('what happens at 0 stands beside what is left, with the prices as they were set', async () => {
  const { visitor, accountId, secret } = await createMemberWithKey(service);
  const usage = await fetch(`${service.url}/usage`, { headers: { Authorization: `Bearer ${secret}` } });
  const { data } = (await usage.json()) as UsageAnswer;
  expect(data.price).toEqual({ amount: 10, currency: 'EUR', credits: 1000 });
  const page = await visitor.get('/dashboard');
  expect(page.textOf('[data-at-zero]')).toMatch(
    /^At 0: requests are refused, at no cost, until 1 \w+ \d{4}\. Plus: 29 € <a month> · Credits: €10 for 1,000/,
  );
  const portuguese = await visitor.get('/dashboard', { 'Accept-Language': 'pt' });
  expect(portuguese.textOf('[data-at-zero]')).toStartWith(
    'Com 0 créditos: os pedidos são recusados, sem custo, até 1 ',
  );
  // One text stands in both languages.
  expect(portuguese.textOf('[data-at-zero]')).toContain('Plus: 29 € <a month> · Créditos: 10 € por 1000');
  // A price ends with no full stop, so nothing follows it.
  await storeCalls(service.sql, accountId, [{ daysAgo: 1, keyId: '', kind: 'search', calls: 7 }]);
  expect((await visitor.get('/dashboard')).textOf('[data-at-zero]')).toMatch(
    /\. At the pace [^.]*\. Plus: 29 € <a month> · Credits: €10 for 1,000$/,
  );
  const plans = await visitor.get('/dashboard/credits');
  expect([plans.textOf('tr[data-prices]'), plans.textOf('p[data-prices]')]).toEqual([
    'Price–29 € <a month>',
    'Purchased credits: €10 for 1,000',
  ]);
});
