import { afterAll, expect, test } from 'bun:test';
import { startDashboardService } from './service.ts';
import { createMember, createVisitor, newPerson, signUp } from './visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const errors = () => service.logLines.filter((line) => Number(line.level) >= 50);

test('more people sign up at once than the dashboard has connections, and all get in', async () => {
  const visitors = Array.from({ length: 8 }, () => createVisitor(service.baseUrl));
  const accounts = await Promise.all(visitors.map((visitor) => signUp(visitor, newPerson())));
  expect(new Set(accounts.map(({ accountId }) => accountId)).size).toBe(8);
});

test('a form that waits for its account’s lock gives up soon, says so, and is no error of the service', async () => {
  const [visitor, other] = [createVisitor(service.baseUrl), createVisitor(service.baseUrl)];
  const { accountId } = await signUp(visitor);
  await signUp(other);
  const page = await visitor.get('/dashboard/keys');
  const form_token = page.document.querySelector('input[name=form_token]')!.getAttribute('value')!;
  await service.sql.begin(async (sql) => {
    await sql`SELECT 1 FROM accounts WHERE id = ${accountId} FOR UPDATE`;
    const forms = Array.from({ length: 8 }, () => visitor.post('/dashboard/keys', { name: 'x', form_token }));
    const pages = await Promise.all([other.get('/dashboard'), ...forms]);
    expect(pages.map(({ status }) => status)).toEqual([200, ...forms.map(() => 503)]);
    expect([pages[1]!.textOf('h1'), pages[1]!.headers.get('retry-after')]).toEqual([
      'The dashboard is busy',
      '1',
    ]);
    // As the table of states has it, with the form to send again.
    expect(pages[1]!.textOf('.lead')).toBe(
      'The service is overloaded at the moment. Nothing was charged. Try again in a moment.',
    );
    expect(pages[1]!.document.querySelector('#retry [name=name]')!.getAttribute('value')).toBe('x');
  });
  expect(errors()).toEqual([]);
  expect((await visitor.submit('/dashboard/keys', { name: 'x' })).status).toBe(200);
});

test('the dashboard has four connections to itself, however many requests come at once', async () => {
  const { visitor } = await createMember(service);
  const answers = await Promise.all(Array.from({ length: 60 }, () => visitor.get('/dashboard')));
  const statuses = answers.map(({ status }) => status);
  // On a slow machine the last ones may wait for too long.
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(12);
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  const [connections] = await service.sql<{ count: number }[]>`
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND query ~ 'dashboard_sessions' AND application_name LIKE '%serve'`;
  expect(connections!.count).toBeLessThanOrEqual(4);
  expect(errors()).toEqual([]);
});
