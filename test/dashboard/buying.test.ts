/** BUY_URL: the API's problem and the dashboard link the address where the account buys credits. */
import { afterAll, expect, test } from 'bun:test';
import { changeLimits } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import { call } from '../support/client.ts';
import { callTool } from '../support/mcp.ts';
import { startDashboardService } from './service.ts';
import { createMemberWithKey, type PageAnswer } from './visitor.ts';

const service = await startDashboardService({ BUY_URL: 'https://shop.example.com/buy?for={account}' });
afterAll(() => service.stop());

test('a problem for want of credits has the address, as a whole answer, in an item, and for agents', async () => {
  const { accountId, secret: key } = await createMemberWithKey(service);
  const buy = `https://shop.example.com/buy?for=${accountId}`;
  await changeLimits(service.sql, accountId, { includedCredits: 1 }, 'test');
  const batch = await call(service.url, '/debts', {
    key,
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ nifs: ['500002576', '500002568'] }),
  });
  expect(batch.body.data[1].problem).toEqual({
    type: expect.stringContaining('monthly-quota-exceeded'),
    title: 'No credits left',
    status: 429,
    detail: expect.any(String),
    quota: 'monthly_credits',
    limit: 1,
    reset: expect.any(String),
    buy,
  });
  const { status, body } = await call(service.url, '/companies?q=abaco', { key });
  expect([status, body.buy]).toEqual([429, buy]);
  const answer = await callTool(service, 'search_companies', { q: 'abaco' }, { key });
  const { result } = (await answer.json()) as {
    result: { structuredContent: { buy: string }; content: { text: string }[] };
  };
  expect(result.structuredContent.buy).toBe(buy);
  expect(result.content[0]!.text).toContain(`tell the user to buy credits at ${buy},`);
});

test('the dashboard links it: in the notice of low credits, beside the balance, and at the plans', async () => {
  const { visitor, accountId } = await createMemberWithKey(service);
  const buy = `https://shop.example.com/buy?for=${accountId}`;
  const links = async (path: string) =>
    (await visitor.get(`/dashboard${path}`)).document.querySelectorAll(`a[href="${buy}"]`).length;
  expect([await links(''), await links('/credits'), await links('/keys')]).toEqual([1, 1, 0]);
  await changeLimits(service.sql, accountId, { includedCredits: 0 }, 'test');
  expect([await links(''), await links('/credits'), await links('/keys')]).toEqual([2, 2, 1]);
  const credits = await visitor.get('/dashboard/credits', { 'Accept-Language': 'pt' });
  expect(credits.textOf('main')).toContain(
    'Comprar créditos O operador deste serviço carrega créditos e altera planos.',
  );
});

test('the page of the problem, a call without credits and a list without credits lead there', async () => {
  const { visitor, accountId } = await createMemberWithKey(service);
  await changeLimits(service.sql, accountId, { includedCredits: 0 }, 'test');
  const buy = `a[href="https://shop.example.com/buy?for=${accountId}"]`;
  const tried = await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  expect(tried.textOf(`[data-forget-form] ${buy}`)).toBe('Buy credits');
  // For people, who see no members of a problem.
  expect(tried.textOf('[data-forget-form] p:nth-of-type(2)')).not.toMatch(/`?(buy|reset)`/);
  const list = await visitor.submit('/dashboard/screen', { list: '500002576' });
  expect(list.textOf(`[data-price] ${buy}`)).toBe('Buy credits');
  // It knows no account.
  const problem = await visitor.get('/problems/monthly-quota-exceeded');
  expect(problem.document.querySelector('main a.button')!.getAttribute('href')).toBe('/dashboard/credits');
});

test('an account with purchased credits that it does not spend is led to the switch, and not to buy more', async () => {
  const { visitor, accountId } = await createMemberWithKey(service);
  await grantCredits(service.sql, accountId, { credits: 7 }, 'test');
  await service.sql`UPDATE balances SET spend_purchased = false, used = 499 WHERE account_id = ${accountId}`;
  const list = { list: '500002576 500002568' };
  const remedies = async (page: Promise<PageAnswer>, place: string) =>
    [...(await page).document.querySelectorAll(`${place} a`)].map((link) => link.getAttribute('href'));
  const spending = '/dashboard/credits/spending';
  expect(await remedies(visitor.get('/dashboard'), '[data-allowance=low]')).toEqual([spending]);
  expect(await remedies(visitor.submit('/dashboard/screen', list), '[data-price]')).toEqual([spending]);
  const screened = visitor.submit('/dashboard/screen', { ...list, price: '2' });
  expect(await remedies(screened, '#rest')).toEqual([spending]);
  expect(await remedies(visitor.get('/dashboard'), '[data-allowance=none]')).toEqual([spending]);
  expect(await remedies(visitor.submit('/dashboard/screen', list), '[data-price]')).toEqual([spending]);
  const tried = visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  expect((await remedies(tried, '[data-forget-form]'))[0]).toBe(spending);
});
