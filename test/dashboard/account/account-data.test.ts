import { afterAll, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createUser } from '../../../src/dashboard/account/invitations.ts';
import { exportAccount } from '../../../src/dashboard/account-data/wings.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { until } from '../../support/until.ts';
import { startDashboardService } from '../service.ts';
import { cookiesOf, createMember, createVisitor, makeKey, newPerson, type Visitor } from '../visitor.ts';

const DOWNLOAD = '/dashboard/settings/account.json';

const service = await startDashboardService();
afterAll(() => service.stop());

async function member() {
  const { visitor, ...person } = await createMember(service);
  const secret = await makeKey(visitor, 'production');
  await grantCredits(service.sql, person.accountId, { credits: 7, note: 'paid' }, 'cli:rui');
  return { visitor, secret, ...person };
}

test('the history names members and "Operator", keys with a link to each, plans, and no operator and no secret', async () => {
  const { visitor, secret, accountId } = await member();
  await grantCredits(service.sql, accountId, { credits: -6, note: 'a typing error' }, 'cli:rui');
  const page = await visitor.get('/dashboard/settings/history');
  const [key] = await service.sql`SELECT id FROM api_keys WHERE account_id = ${accountId}`;
  expect(page.cellsOf('tbody tr').map((cells) => cells.slice(1))).toEqual([
    ['Purchased credits', 'Operator', '−6 · a typing error'],
    ['Purchased credits', 'Operator', '+7 · paid'],
    ['Key created', 'You', 'production'],
    ['Account created', 'You', 'Free'],
  ]);
  expect(page.linksOf('td a')).toEqual([`/dashboard/keys/${key!.id}`]);
  expect(page.text).not.toContain('cli:rui');
  expect(page.text).not.toContain(secret.slice(10));
});

test('the download has what is stored, without secrets, operators’ names and the sessions of other members, which the operator’s export has', async () => {
  const { visitor, secret, accountId, email } = await member();
  const [other, browser] = [newPerson('Rui'), createVisitor(service.baseUrl, { address: '203.0.113.77' })];
  await createUser(service.sql, accountId, other, 'test');
  await browser.submit('/dashboard/sign-in', { ...other });
  const lists = ['sessions', 'links', 'mails', 'emailChanges', 'attempts'] as const;
  const read = (text: string) => {
    const stored = JSON.parse(text) as Record<string, { id?: string; member?: string; email?: string }[]>;
    const emails = new Map(stored.members!.map((one) => [one.id, one.email]));
    const owners = lists.flatMap((name) => stored[name]!.map((row) => row.email ?? emails.get(row.member)));
    return { members: emails.size, owners: new Set(owners) };
  };
  const { text, headers } = await visitor.get(DOWNLOAD);
  expect(headers.get('content-disposition')).toBe('attachment; filename="account.json"');
  const { account, history } = JSON.parse(text);
  expect(account).toMatchObject({ id: accountId, credits: 7 });
  expect(history.map((entry: { actor: string }) => entry.actor)).toContain('operator');
  const session = visitor.cookies.get('dashboard.session_token')!;
  for (const hidden of ['cli:rui', secret.slice(10), session, '203.0.113.77'])
    expect(text).not.toContain(hidden);
  expect(read(text)).toEqual({ members: 2, owners: new Set([email]) });
  let whole = '';
  await exportAccount(service.sql, accountId, async (part) => {
    whole += part;
  });
  expect(whole).toContain('203.0.113.77');
  expect(read(whole)).toEqual({ members: 2, owners: new Set([email, other.email]) });
});

test('a member downloads once a minute; the next time a page says how long to wait, and leads to the download again', async () => {
  const { visitor, userId } = await member();
  for (const path of ['/dashboard/settings', '/dashboard/settings/delete'])
    expect((await visitor.get(path)).linksOf('main a')).toContain(DOWNLOAD);
  expect((await visitor.get(DOWNLOAD)).status).toBe(200);
  const early = await visitor.get(DOWNLOAD);
  expect([early.status, early.textOf('h1')]).toEqual([429, 'Too many requests']);
  expect(early.textOf('main')).toContain('once a minute. Wait a minute, and try again.');
  expect(early.linksOf('main a')).toContain(DOWNLOAD);
  const waitS = Number(early.headers.get('retry-after'));
  expect(waitS > 30 && waitS <= 60).toBe(true);
  await service.sql`
    UPDATE dashboard_attempts SET ends_at = now() WHERE key = ${`download ${userId}`}`;
  expect((await visitor.get(DOWNLOAD)).status).toBe(200);
});

test('two downloads run at once, one of an account; readers that stop keep no other account out, and their files have no end', async () => {
  const visitors = await Array.fromAsync({ length: 3 }, async () => {
    const { visitor, accountId } = await member();
    // More than the buffers of a connection take.
    await service.sql`
      INSERT INTO account_events (account_id, kind, actor, note)
      SELECT ${accountId}, 'plan', 'test', repeat('x', 1000) FROM generate_series(1, 12000)`;
    return visitor;
  });
  /** Reads the beginning of a download, and no more. */
  const start = async (visitor: Visitor) => {
    const { host, port } = new URL(service.baseUrl);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET ${DOWNLOAD} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookiesOf(visitor)}\r\n\r\n`);
    const closed = new Promise((resolve) => socket.on('close', resolve));
    const [head] = await once(socket, 'data');
    socket.pause();
    socket.on('error', () => {}); // the service resets it
    /** Reads its buffers, up to the end of the connection. */
    const rest = async () => {
      const parts: string[] = [];
      socket.on('data', (part) => parts.push(String(part)));
      socket.resume();
      await closed;
      return parts.join('');
    };
    return { status: Number(String(head).slice(9, 12)), head: String(head), rest };
  };
  const one = await start(visitors[0]!);
  // The second download of one account waits, and takes no place of others.
  const second = visitors[0]!.get('/dashboard/usage.csv');
  expect((await visitors[2]!.get('/dashboard/usage.csv')).status).toBe(200);
  const two = await start(visitors[1]!);
  expect([one.status, two.status]).toEqual([200, 200]);
  const open = async () => {
    const [row] = await service.sql<{ count: number }[]>`
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`;
    return row!.count;
  };
  await until('both to wait for their readers', async () => (await open()) === 2);
  const third = await visitors[2]!.get(DOWNLOAD);
  expect([third.status, JSON.parse(third.text).history.length]).toEqual([200, 12_003]);
  expect((await second).status).toBe(200);
  const cutOff = () => service.logLines.filter(({ msg }) => msg === 'a download was cut off').length;
  await until('the end of both', async () => cutOff() === 2 && (await open()) === 0);
  // A body in chunks is whole if its last one is empty.
  for (const { head, rest } of [one, two]) {
    const answer = head + (await rest());
    expect(answer.toLowerCase()).toContain('transfer-encoding: chunked');
    expect(answer.endsWith('\r\n0\r\n\r\n')).toBe(false);
  }
});

test('a deletion says which credits are lost; then nobody signs in and no key works', async () => {
  const { visitor, secret, accountId, ...person } = await member();
  const path = '/dashboard/settings/delete';
  const lost = async () => (await visitor.get(path)).textOf('main .notice');
  expect(await lost()).toBe('Credits that are lost: 507, of these purchased: 7.');
  await service.sql`UPDATE balances SET credits = 0 WHERE account_id = ${accountId}`;
  expect(await lost()).toBe('Credits that are lost: 500, of these purchased: 0.');
  const answer = await visitor.submit(path, { name: person.name, present: person.password });
  const deleted = '/dashboard/sign-in?done=deleted';
  expect(answer.place()).toEqual([303, deleted]);
  expect((await visitor.get(deleted)).textOf('[role=status]')).toBe('The account is deleted.');
  expect((await visitor.get('/dashboard')).status).toBe(303);
  expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(401);
  const headers = { Authorization: `Bearer ${secret}` };
  await until('the refusal', async () => (await fetch(`${service.url}/usage`, { headers })).status === 401);
});
