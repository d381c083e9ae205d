/** The way of an agent from its first 401 to its end (docs/mcp.md: connections). */
import { afterAll, expect, test } from 'bun:test';
import { createUser } from '../../../src/dashboard/account/invitations.ts';
import { deleteAccount } from '../../../src/dashboard/account-data/wings.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { requireAccount } from '../../../src/metering/accounts/account-store.ts';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { MAX_CONNECTIONS } from '../../../src/metering/connections/connection-store.ts';
import { expireKey } from '../../../src/metering/keys/expire.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import { rotateKey } from '../../../src/metering/keys/rotate.ts';
import { SECOND } from '../../../src/platform/units.ts';
import { eventually } from '../../support/until.ts';
import { startMailedDashboard } from '../service.ts';
import {
  codeOf,
  createMember,
  createVisitor,
  enrolled,
  linkTo,
  makeKey,
  newPerson,
  type PageAnswer,
  usageStatus,
} from '../visitor.ts';
import {
  answerOf,
  askedMember,
  authorizePath,
  boxesOf,
  callTool,
  connectAgent,
  connectedMember,
  consent,
  exchange,
  openConsent,
  refresh,
  registerAgent,
  revoke,
} from './agent.ts';

const { service, mail, stop } = await startMailedDashboard({ OAUTH_REGISTRATION: 'on' });
afterAll(stop);

const to = ({ headers }: PageAnswer) => headers.get('location')!;
const SEARCH = ['search_companies', { q: 'empresa' }] as const;
/** The connection of an account. */
async function keyOf(accountId: string) {
  const [key] = await service.sql<
    { id: string; ends: Date; credits: number; per: string; rights: string[] }[]
  >`
    SELECT id, ends_at AS ends, credits::integer AS credits, per, rights FROM api_keys JOIN key_budgets ON key_id = id
    WHERE account_id = ${accountId} AND is_connection`;
  return key!;
}
/** The fields of a form whose boxes are all cleared. */
const noneOf = (page: PageAnswer) => Object.fromEntries(boxesOf(page).map((name) => [name, 'no']));
/** A revocation is in force within 5 seconds, once every instance has the notification. */
const expectEnd = (token: string) =>
  eventually(async () => (await callTool(service, token)).status, 401, 5 * SECOND);

test('who has no account yet signs up on the way, and comes back to the consent of the agent', async () => {
  const visitor = createVisitor(service.baseUrl);
  const person = newPerson();
  const agent = await registerAgent(service);
  const page = await openConsent(visitor, agent);
  const signIn = await visitor.get(to(await visitor.get(page)));
  expect(signIn.textOf('main')).toContain('To connect an agent, sign in');
  const signUp = signIn.document.querySelector('a[href*="/sign-up"]')!.getAttribute('href')!;
  expect((await visitor.get(signUp)).textOf('main')).toContain('To connect an agent, sign in');
  const { password, ...own } = person;
  expect((await visitor.submit(signUp, own)).status).toBe(303);
  const confirmed = await visitor.submit(await linkTo(mail, person.email), { password });
  expect(to(confirmed)).toEndWith(page);
  expect(answerOf(await consent(visitor, person, page))).toMatchObject({ state: agent.state });
});

test('an agent that a member connects calls tools at /mcp alone, refreshes, and is ended by its own revocation', async () => {
  const { member, agent, tokens } = await connectedMember(service);
  expect(tokens).toMatchObject({ status: 200, token_type: 'Bearer', expires_in: 3600 });
  expect((await callTool(service, tokens.access_token, ...SEARCH)).body.result.isError).toBeUndefined();
  expect((await requireAccount(service.sql, member.accountId)).used).toBe(1);
  expect(await usageStatus(service, tokens.access_token)).toBe(401);
  const next = await refresh(service, agent, tokens.refresh_token);
  for (const token of [next.access_token, tokens.access_token])
    expect((await callTool(service, token)).status).toBe(200);
  expect((await revoke(service, next.refresh_token)).status).toBe(200);
  await expectEnd(next.access_token);
  const ended = await refresh(service, agent, next.refresh_token);
  expect([ended.status, ended.error]).toEqual([400, 'invalid_grant']);
  expect((await loadHistory(service.sql, member.accountId)).slice(-2)).toMatchObject([
    { kind: 'connection-created', detail: { client: 'an unchecked program: Helper' } },
    { kind: 'key-revoked', actor: 'client:registered' },
  ]);
});

test('the page of consent says who asks and where it leads; 100 credits a day and named rights are its defaults', async () => {
  const member = await createMember(service);
  const agent = await registerAgent(service, { name: '<script>alert(1)</script>' });
  const path = await openConsent(member.visitor, agent);
  const page = await member.visitor.get(path);
  expect(page.text).not.toContain('<script>alert');
  expect(page.textOf('dl')).toMatch(/an unchecked program.*<script>alert\(1\).*agent\.example/);
  expect(page.document.querySelector('#credits')!.getAttribute('value')).toBe('100');
  expect(boxesOf(page)).not.toContain('only-activity');
  const answer = await consent(member.visitor, member, path);
  expect(answerOf(answer)).toEqual({ code: expect.any(String), state: agent.state, iss: service.baseUrl });
  const { id, ends: _ends, ...limits } = await keyOf(member.accountId);
  expect(limits).toEqual({
    credits: 100,
    per: 'day',
    rights: ['search', 'matches', 'resolve', 'lookup', 'debts', 'changes', 'usage', 'datasets'],
  });
  const { text } = await mail.mailTo(member.email);
  expect(text).toContain(`${service.baseUrl}/dashboard/keys/${id}`);
  expect(text).not.toContain('script');
});

test('the consent wants a budget and a right; a press that is sent twice connects once', async () => {
  const { member, agent, path } = await askedMember(service);
  const press = (fields = {}) => consent(member.visitor, member, path, fields);
  expect((await press({ credits: '' })).textOf('#credits-fault')).toBe('An agent needs a credit limit.');
  const none = noneOf(await member.visitor.get(path));
  expect((await press(none)).textOf('[role=alert]')).toBe('Tick what the agent may do.');
  const [first, second] = [await press(), await press()];
  expect(to(second)).toBe(to(first));
  expect(await service.sql`SELECT id FROM api_keys WHERE account_id = ${member.accountId}`).toHaveLength(1);
  const { code } = answerOf(first);
  expect((await exchange(service, agent, code!)).status).toBe(200);
  expect((await press()).status).toBe(409);
});

test('without a session the way leads through the sign-in and the code of the second factor', async () => {
  const { person, secret } = await enrolled(service);
  const visitor = createVisitor(service.baseUrl);
  const agent = await registerAgent(service);
  const begun = await visitor.get(authorizePath(agent));
  const path = to(begun);
  const code = await visitor.submit(to(await visitor.get(path)), { ...person });
  const codePage = to(await visitor.get(to(code)));
  const asked = await visitor.get(codePage);
  const done = await visitor.submit(codePage, { code: codeOf(secret, 1) });
  expect(to(done)).toBe(path);
  // Nothing on the way cuts the window off from its opener.
  for (const { headers } of [begun, code, asked, done, await visitor.get(path)])
    expect(headers.get('cross-origin-opener-policy')).toBeNull();
  expect((await consent(visitor, person, path)).status).toBe(303);
});

test('a member sees the connection among the keys, changes its limits, but can not drop them, and ends it after a question', async () => {
  const { member, tokens } = await connectedMember(service);
  await callTool(service, tokens.access_token, ...SEARCH);
  const { id } = await keyOf(member.accountId);
  const list = await member.visitor.get('/dashboard/keys');
  expect(list.textOf('[aria-labelledby=connections-title] tbody')).toContain('Helper');
  expect(list.textOf('[data-figure=quota]')).toBe('0 of 2 in use');
  const page = await member.visitor.get(`/dashboard/keys/${id}`);
  expect(page.textOf('dl')).toMatch(/It calls itselfHelper.*agent\.exampleByYou/);
  expect(page.textOf('main dl')).toContain('99 of 100 left today');
  expect(page.text).not.toContain('secrets-title');
  for (const closed of ['rotate', 'end-secret'])
    expect((await member.visitor.get(`/dashboard/keys/${id}/${closed}`)).status).toBe(404);
  const limits = `/dashboard/keys/${id}/change`;
  const none = noneOf(await member.visitor.get(limits));
  const limitsNow = async () => {
    const { rights, credits } = await keyOf(member.accountId);
    return [rights.length, credits];
  };
  const change = (fields: Record<string, string>) => member.visitor.submit(limits, { per: 'day', ...fields });
  expect((await change({ credits: '' })).textOf('#credits-fault')).toBe('An agent needs a credit limit.');
  const cleared = await change({ credits: '1', ...none });
  expect(cleared.textOf('[role=alert]')).toBe('Tick what the agent may do.');
  expect(await limitsNow()).toEqual([8, 100]);
  await change({ credits: '1' });
  expect(await limitsNow()).toEqual([8, 1]);
  expect((await callTool(service, tokens.access_token, ...SEARCH)).body.result.isError).toBe(true);
  const revocation = `/dashboard/keys/${id}/revoke`;
  expect((await member.visitor.get(`/dashboard/keys/${id}`)).text).toContain(revocation);
  expect((await member.visitor.get(revocation)).textOf('main h1')).toStartWith('End the connection “');
  expect(to(await member.visitor.submit(revocation, {}))).toBe('/dashboard/keys?done=ended');
  await expectEnd(tokens.access_token);
});

test('a member who leaves or is removed ends the connections that are theirs, and no others', async () => {
  const { member: owner, tokens: kept } = await connectedMember(service);
  const colleague = newPerson('Colleague');
  await createUser(service.sql, owner.accountId, colleague, 'test');
  const visitor = createVisitor(service.baseUrl);
  await visitor.submit('/dashboard/sign-in', { ...colleague });
  const { agent, tokens: lost } = await connectAgent(service, { visitor, ...colleague });
  const list = await owner.visitor.get('/dashboard/settings/members');
  const removals = list.linksOf('a[href$="/remove"]').filter((link) => !link!.includes(owner.userId));
  await owner.visitor.submit(removals[0]!, { present: owner.password });
  await expectEnd(lost.access_token);
  expect((await refresh(service, agent, lost.refresh_token)).error).toBe('invalid_grant');
  expect((await callTool(service, kept.access_token)).status).toBe(200);
});

test('a suspended account connects no agent, its agents are refused until it is resumed, and one that ends its connection meanwhile has ended it for good', async () => {
  const { member, agent, tokens } = await connectedMember(service);
  const other = await connectAgent(service, member);
  await setSuspended(service.sql, member.accountId, true, 'test');
  await expectEnd(tokens.access_token);
  expect((await refresh(service, agent, tokens.refresh_token)).error).toBe('invalid_grant');
  expect((await revoke(service, other.tokens.refresh_token)).status).toBe(200);
  await member.visitor.submit('/dashboard/sign-in', { ...member });
  const path = await openConsent(member.visitor, await registerAgent(service));
  expect((await consent(member.visitor, member, path)).status).toBe(403);
  await setSuspended(service.sql, member.accountId, false, 'test');
  expect((await refresh(service, agent, tokens.refresh_token)).status).toBe(200);
  expect((await refresh(service, other.agent, other.tokens.refresh_token)).error).toBe('invalid_grant');
  await expectEnd(other.tokens.access_token);
});

test('a consent that another member of the browser sends again does not give them the first one’s code', async () => {
  const { member, agent, path } = await askedMember(service);
  const { code } = answerOf(await consent(member.visitor, member, path));
  const other = await createMember(service, { visitor: member.visitor });
  const again = await consent(member.visitor, other, path);
  expect(again.place()).toEqual([409, null]);
  expect((await exchange(service, agent, code!)).status).toBe(200);
});

test('connections take no place of the plan; an account has at most 50', async () => {
  const member = await createMember(service);
  await connectAgent(service, member);
  await service.sql`
    INSERT INTO api_keys (id, account_id, start, secret_sha256, is_connection)
    SELECT 'key_full' || n, ${member.accountId}, '', sha256(convert_to(${member.accountId} || n, 'UTF8')), true
    FROM generate_series(2, ${MAX_CONNECTIONS}::integer) AS n`;
  const agent = await registerAgent(service);
  const refused = await consent(member.visitor, member, await openConsent(member.visitor, agent));
  expect([refused.status, refused.textOf('[role=alert]')]).toEqual([
    409,
    'The account has 50 connected agents, which is the most. End one first.',
  ]);
  expect((await requireAccount(service.sql, member.accountId)).keys).toBe(0);
  expect(await makeKey(member.visitor)).toStartWith('svc_');
});

test('a connection can be neither rotated nor given another end, and its account takes it along when it is deleted', async () => {
  const { member, tokens } = await connectedMember(service);
  const { id, ends } = await keyOf(member.accountId);
  expect(ends.getTime() - Date.now()).toBeGreaterThan(29 * 86_400_000);
  await expect(rotateKey(service.sql, id, 0, 'test')).rejects.toThrow('is a connection');
  await expect(expireKey(service.sql, id, null, 'test')).rejects.toThrow('is a connection');
  const exported = JSON.parse((await member.visitor.get('/dashboard/settings/account.json')).text);
  expect(exported.connections).toMatchObject([
    { key: id, clientName: 'Helper', redirectUri: 'https://agent.example/callback' },
  ]);
  await deleteAccount(service.sql, member.accountId, 'test');
  await expectEnd(tokens.access_token);
  for (const table of ['connections', 'connection_tokens', 'connection_refresh_tokens']) {
    const rows = await service.sql`SELECT 1 FROM ${service.sql(table)} WHERE key_id = ${id}`;
    expect([table, rows.length]).toEqual([table, 0]);
  }
});

/** How many of so many calls at once are refused for the rate, and whose limit refuses them. */
async function refusedOf(tokens: string[], calls: number) {
  const answers = await Promise.all(
    Array.from({ length: calls }, (_, call) => callTool(service, tokens[call % tokens.length]!)),
  );
  const refused = answers.filter(({ body }) => body.result.isError);
  for (const { body } of refused)
    expect(JSON.stringify(body)).toContain("The key's share of the account's rate is 10 requests");
  return refused.length;
}

test('all connections share half of the rate, and those of 0.1.0 do once they are limited', async () => {
  const member = await createMember(service); // of 20 requests a minute
  const first = await connectAgent(service, member);
  const second = await connectAgent(service, member);
  const tokens = [first.tokens.access_token, second.tokens.access_token];
  expect(await refusedOf(tokens, 18)).toBeWithin(1, 9);

  const released = await createMember(service);
  const old = await connectAgent(service, released);
  const { id } = await keyOf(released.accountId);
  const release = () => service.sql`UPDATE api_keys SET shares_rate = false WHERE id = ${id}`;
  await release();
  expect(await refusedOf([old.tokens.access_token], 18)).toBe(0);
  const sharesAfter = async (change: Promise<unknown>) => {
    await change;
    return (await service.sql`SELECT shares_rate FROM api_keys WHERE id = ${id}`)[0]!.shares_rate;
  };
  const submit = async (fields: Record<string, string>) => {
    const sent = { per: 'day', 'group-companies': 'yes', ...fields };
    expect((await released.visitor.submit(`/dashboard/keys/${id}/change`, sent)).status).toBe(303);
  };
  expect(await sharesAfter(limitKey(service.sql, id, { only: null }, 'test'))).toBe(false);
  expect(await sharesAfter(submit({ credits: '70' }))).toBe(false);
  expect(await sharesAfter(submit({ 'per-minute': '5' }))).toBe(true);
  await release();
  expect(await sharesAfter(limitKey(service.sql, id, { requests_per_minute: null }, 'test'))).toBe(true);
});
