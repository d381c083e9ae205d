/** Credits that are left, what happens at 0, and BUY_URL: the API's problem and the dashboard link the address where the account buys some. */
import { afterAll, expect, test } from 'bun:test';
import { changeLimits, setSuspended } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import type { UsageAnswer } from '../../src/metering/usage/usage-schema.ts';
import { call } from '../support/client.ts';
import { callTool } from '../support/mcp.ts';
import { startDashboardService, storeCalls, usedBy } from './service.ts';
import { createMember, createMemberWithKey, type PageAnswer } from './visitor.ts';

const service = await startDashboardService({
  BUY_URL: 'https://shop.example.com/buy?for={account}',
  PLUS_PRICE: '29 € <a month>',
  CREDITS_PRICE: '10 EUR 1000',
});
afterAll(() => service.stop());

test('a problem for want of credits has the address, as a whole answer, in an item, and for agents', async () => {
  const { accountId, secret: key } = await createMemberWithKey(service);
  const buy = `https://shop.example.com/buy?for=${accountId}`;
  await changeLimits(service.sql, accountId, { includedCredits: 1 }, 'test');
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ nifs: ['500002576', '500002568'] });
  const batch = await call(service.url, '/debts', { key, method: 'POST', headers, body });
  expect(batch.body.data[1].problem).toEqual({
    type: expect.stringContaining('monthly-quota-exceeded'),
    ...{ title: 'No credits left', status: 429, detail: expect.any(String) },
    ...{ quota: 'monthly_credits', limit: 1, reset: expect.any(String), buy },
  });
  const search = await call(service.url, '/companies?q=abaco', { key });
  expect([search.status, search.body.buy]).toEqual([429, buy]);
  const answer = await callTool(service, 'search_companies', { q: 'abaco' }, { key });
  const { result } = (await answer.json()) as {
    result: { structuredContent: { buy: string }; content: { text: string }[] };
  };
  expect(result.structuredContent.buy).toBe(buy);
  expect(result.content[0]!.text).toContain(`tell the user to buy credits at ${buy},`);
});

test('the dashboard links it: in the notice of low credits, beside the balance, at the plans, and where a call or a list has none', async () => {
  const { visitor, accountId } = await createMember(service);
  const link = `a[href="https://shop.example.com/buy?for=${accountId}"]`;
  const links = async (path: string) => (await visitor.get(`/dashboard${path}`)).countOf(link);
  expect([await links(''), await links('/credits'), await links('/keys')]).toEqual([1, 1, 0]);
  await changeLimits(service.sql, accountId, { includedCredits: 0 }, 'test');
  expect([await links(''), await links('/credits'), await links('/keys')]).toEqual([2, 2, 1]);
  const credits = await visitor.get('/dashboard/credits', { 'Accept-Language': 'pt' });
  expect(credits.textOf('main')).toContain(
    'Comprar créditos O operador deste serviço carrega créditos e altera planos.',
  );
  const tried = await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  expect(tried.textOf(`[data-forget-form] ${link}`)).toBe('Buy credits');
  // For people, who see no members of a problem.
  expect(tried.textOf('[data-forget-form] p:nth-of-type(2)')).not.toMatch(/`?(buy|reset)`/);
  const list = await visitor.submit('/dashboard/screen', { list: '500002576' });
  expect(list.textOf(`[data-price] ${link}`)).toBe('Buy credits');
  expect([list.textOf('button[name=price]'), list.textOf('textarea')]).toEqual([null, '500002576']);
  // It knows no account.
  const problem = await visitor.get('/problems/monthly-quota-exceeded');
  expect(problem.linksOf('main a.button')).toEqual(['/dashboard/credits']);
});

test('an account with purchased credits that it does not spend is led to the switch, and not to buy more', async () => {
  const { visitor, accountId } = await createMemberWithKey(service);
  await grantCredits(service.sql, accountId, { credits: 7 }, 'test');
  await service.sql`UPDATE balances SET spend_purchased = false, used = 499 WHERE account_id = ${accountId}`;
  const list = { list: '500002576 500002568' };
  const remedies = async (page: Promise<PageAnswer>, place: string) => (await page).linksOf(`${place} a`);
  const spending = '/dashboard/credits/spending';
  expect(await remedies(visitor.get('/dashboard'), '[data-notice="credits low"]')).toEqual([spending]);
  expect(await remedies(visitor.submit('/dashboard/screen', list), '[data-price]')).toEqual([spending]);
  const screened = visitor.submit('/dashboard/screen', { ...list, price: '2' });
  expect(await remedies(screened, '#rest')).toEqual([spending]);
  expect(await remedies(visitor.get('/dashboard'), '[data-notice="credits none"]')).toEqual([spending]);
  expect(await remedies(visitor.submit('/dashboard/screen', list), '[data-price]')).toEqual([spending]);
  const tried = visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  expect((await remedies(tried, '[data-forget-form]'))[0]).toBe(spending);
});

test('a lowered limit is no payment: only purchased credits that the ledger has spent are called so', async () => {
  const { visitor, accountId } = await createMember(service);
  await service.sql`UPDATE balances SET used = 93 WHERE account_id = ${accountId}`;
  await changeLimits(service.sql, accountId, { includedCredits: 50 }, 'test');
  const lowered = await visitor.get('/dashboard');
  expect([lowered.textOf('[data-beyond]'), lowered.textOf('[data-figure=used]')]).toEqual([null, '93']);
  await grantCredits(service.sql, accountId, { credits: 7 }, 'test');
  await service.sql`UPDATE balances SET used = 96, used_purchased = 3, credits = 4 WHERE account_id = ${accountId}`;
  expect(await visitor.textAt('/dashboard', '[data-beyond]')).toStartWith(
    '3 of them beyond the allowance. Each was paid with a purchased credit.',
  );
});

test('a suspended account has nothing to spend and nothing to buy; it gets no key and no call, and no first steps', async () => {
  const { visitor, accountId, email, password } = await createMember(service);
  const waysToBuy = async () => (await visitor.get('/dashboard')).countOf('.at-zero .button');
  expect(await waysToBuy()).toBe(1);
  await setSuspended(service.sql, accountId, true, 'test', 'Invoice 17 is overdue');
  await visitor.submit('/dashboard/sign-in', { email, password });
  const page = await visitor.get('/dashboard');
  expect(page.textOf('.figure.suspended .big')).toBe('Suspended');
  expect([page.textOf('[data-figure=available]'), await waysToBuy()]).toEqual([null, 0]);
  // A first call would be refused.
  expect(page.countOf('.steps')).toBe(0);
  const fields = { name: 'x', q: 'abaco', kind: 'search', list: '500002576' };
  for (const path of ['keys', 'try', 'screen']) {
    const refused = await visitor.submit(`/dashboard/${path}`, fields);
    expect([path, refused.refusal()]).toEqual([path, expect.stringMatching(/^403 .*suspended/)]);
  }
  expect(await usedBy(service, accountId)).toBe(0);
});

test('what happens at 0 stands beside what is left, with the prices as they were set', async () => {
  const { visitor, accountId, secret } = await createMemberWithKey(service);
  const { body } = await call(service.url, '/usage', { key: secret });
  expect((body as UsageAnswer).data.price).toEqual({ amount: 10, currency: 'EUR', credits: 1000 });
  const page = await visitor.get('/dashboard');
  expect(page.textOf('[data-at-zero]')).toMatch(
    /^At 0: requests are refused, at no cost, until 1 \w+ \d{4}\. Plus: 29 € <a month> · Credits: €10 for 1,000/,
  );
  const portuguese = await visitor.get('/dashboard', { 'Accept-Language': 'pt' });
  // One text of the operator stands in both languages.
  expect(portuguese.textOf('[data-at-zero]')).toMatch(
    /^Com 0 créditos: os pedidos são recusados, sem custo, até 1 .*Plus: 29 € <a month> · Créditos: 10 € por 1 000/,
  );
  // A price ends with no full stop, so nothing follows it.
  await storeCalls(service.sql, accountId, [{ daysAgo: 1, kind: 'search', calls: 7 }]);
  expect(await visitor.textAt('/dashboard', '[data-at-zero]')).toMatch(
    /\. At the pace [^.]*\. Plus: 29 € <a month> · Credits: €10 for 1,000$/,
  );
  const plans = await visitor.get('/dashboard/credits');
  expect(plans.textOf('tr[data-prices]')).toBe('Price–29 € <a month>');
  expect(plans.textOf('p[data-prices]')).toBe('Purchased credits: €10 for 1,000');
});
