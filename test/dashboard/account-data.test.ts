import { afterAll, beforeAll, expect, test } from 'bun:test';
import { grantCredits } from '../../src/accounts/grant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startDashboardService } from './service.ts';
import { createVisitor, makeKey, signUp } from './visitor.ts';

let service: TestService;
beforeAll(async () => {
  service = await startDashboardService();
});
afterAll(() => service.stop());

async function member() {
  const visitor = createVisitor(service.baseUrl);
  const person = await signUp(visitor);
  const secret = await makeKey(visitor, 'production');
  await grantCredits(service.sql, person.accountId, { credits: 7, note: 'paid' }, 'cli:rui');
  return { visitor, secret, ...person };
}

test('the history names members and "Operator", keys by name and id, and no operator and no secret', async () => {
  const { visitor, secret, accountId } = await member();
  const page = await visitor.get('/dashboard/settings/history');
  const rows = [...page.document.querySelectorAll('tbody tr')].map((row) =>
    [...row.querySelectorAll('td')].map((cell) => cell.textContent),
  );
  const [key] = await service.sql`SELECT id FROM api_keys WHERE account_id = ${accountId}`;
  expect(rows).toEqual([
    ['Credits added', 'Operator', '+7 · paid'],
    ['Key created', 'You', `production (${key!.id})`],
    ['Account created', 'You', ''],
  ]);
  expect(page.text).not.toContain('cli:rui');
  expect(page.text).not.toContain(secret.slice(10));
});

test('the download has what is stored, without secrets and without operators’ names', async () => {
  const { visitor, secret, email, accountId } = await member();
  const answer = await visitor.get('/dashboard/settings/account.json');
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="account.json"');
  const stored = JSON.parse(answer.text);
  expect(stored).toMatchObject({ account: { id: accountId, credits: 7 }, members: [{ email }] });
  expect(stored.history.map((entry: { actor: string }) => entry.actor)).toContain('operator');
  for (const hidden of ['cli:rui', secret.slice(10), visitor.cookies.get('dashboard.session_token')!]) {
    expect(answer.text).not.toContain(hidden);
  }
});

test('a deletion wants the account’s name and the password; then nobody signs in and no key works', async () => {
  const { visitor, secret, accountId, ...person } = await member();
  const path = '/dashboard/settings/delete';
  const wrongName = await visitor.submit(path, { name: 'Another', present: person.password });
  expect([wrongName.status, wrongName.textOf('[role=alert]')]).toEqual([
    422,
    'That is not the name of the account.',
  ]);
  const wrongPassword = await visitor.submit(path, { name: person.name, present: 'not the password' });
  expect(wrongPassword.status).toBe(422);
  expect(
    await service.sql`SELECT 1 FROM accounts WHERE id = ${accountId} AND deleted_at IS NULL`,
  ).toHaveLength(1);
  const answer = await visitor.submit(path, { name: person.name, present: person.password });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/dashboard/sign-in?done=deleted']);
  expect((await visitor.get('/dashboard/sign-in?done=deleted')).textOf('[role=status]')).toBe(
    'The account is deleted.',
  );
  expect((await visitor.get('/dashboard')).status).toBe(303);
  expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(401);
  const headers = { Authorization: `Bearer ${secret}` };
  await until('the refusal', async () => (await fetch(`${service.url}/usage`, { headers })).status === 401);
});
