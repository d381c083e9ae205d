/** Mails when 80% and 100% of the allowance are used (docs/members.md: usage alerts). */
import { afterAll, beforeEach, expect, spyOn, test } from 'bun:test';
import { deleteAccount } from '../../../src/dashboard/account-data/wings.ts';
import { createMailer } from '../../../src/dashboard/auth/mail.ts';
import { type DueMailParts, sendDueMails, usageAlerts } from '../../../src/dashboard/mails/due-mails.ts';
import { changeLimits, changePlan } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { MINUTE } from '../../../src/platform/units.ts';
import { until } from '../../support/until.ts';
import { startMailedDashboard } from '../service.ts';
import { createMember, makeKey } from '../visitor.ts';

const timers = spyOn(globalThis, 'setInterval');
const { mail, service, stop } = await startMailedDashboard();
const everyMinute = timers.mock.calls.filter(([, everyMs]) => everyMs === MINUTE).map(([task]) => task);
timers.mockRestore();
afterAll(() => stop());

let logLines: string[];
beforeEach(() => {
  logLines = [];
});

/** One run of an instance. */
function send(
  relay = mail.url,
  sender?: DueMailParts['mailer'],
  lastRun?: DueMailParts['lastRun'],
): Promise<void> {
  const log = createLogTo({ write: (line) => void logLines.push(line) });
  const publicUrl = 'https://example.com';
  const mailer = sender ?? createMailer(relay, null, publicUrl, log);
  const buyUrl = 'https://shop.example.com/{account}';
  const parts = { sql: service.sql, mailer, publicUrl, buyUrl, contact: null };
  return sendDueMails({ ...parts, ...(lastRun && { lastRun }) }, usageAlerts);
}

/** A new account with an allowance of 10. */
async function createCaller(language = 'en') {
  const person = await createMember(service, { language });
  await changeLimits(service.sql, person.accountId, { includedCredits: 10 }, 'test');
  const use = async (used: number) => {
    await service.sql`UPDATE balances SET used = ${used} WHERE account_id = ${person.accountId}`;
  };
  return { ...person, use };
}

/** Two instances look at once, twice. */
async function check(): Promise<void> {
  for (let time = 0; time < 2; time += 1) await Promise.all([send(), send()]);
}

test('each member gets one mail at 80% and one at 100%, once a period, although two instances look again and again', async () => {
  const { accountId, email, use } = await createCaller();
  await use(7);
  await check();
  expect(mail.received(email)).toBe(0);
  await use(8);
  await check();
  const nearly = await mail.mailTo(email);
  expect(nearly.text).toContain('80% of your included credits are used');
  expect(nearly.text).toContain('Included credits used: 8 of 10');
  expect(nearly.text).toContain('https://example.com/dashboard/settings');
  await use(9);
  await check();
  expect(mail.received(email)).toBe(0);
  await use(10);
  await check();
  expect((await mail.mailTo(email)).text).toContain('100% of your included credits are used');
  await use(15);
  await check();
  expect(mail.received(email)).toBe(0);
  await changePlan(service.sql, accountId, 'plus', {}, 'test');
  await check();
  expect(mail.received(email)).toBe(0);
  await use(9);
  await check();
  expect((await mail.mailTo(email)).text).toContain('90%');
  expect(mail.received(email)).toBe(0);
});

test('credits that come back below a threshold send no second mail', async () => {
  const { email, use } = await createCaller();
  for (const used of [8, 7, 8]) {
    await use(used);
    await check();
  }
  await mail.mailTo(email);
  expect(mail.received(email)).toBe(0);
});

test('credits that are back at the next run send no mail', async () => {
  const { email, use } = await createCaller();
  const lastRun: DueMailParts['lastRun'] = new Map();
  for (const used of [8, 7, 8]) {
    await use(used);
    await send(mail.url, undefined, lastRun);
    expect(mail.received(email)).toBe(0);
  }
  await send(mail.url, undefined, lastRun);
  expect((await mail.mailTo(email)).text).toContain('80%');
});

test('of two thresholds that are crossed at once one mail is sent, with the true share', async () => {
  const { email, use } = await createCaller();
  await use(13);
  await check();
  const { text } = await mail.mailTo(email);
  expect(text).toContain('130% of your included credits are used');
  expect(text).toContain('Included credits used: 13 of 10');
  await check();
  expect(mail.received(email)).toBe(0);
});

test('the mail is in the language of the latest visit, and says what happens beyond the plan', async () => {
  const { accountId, email, use } = await createCaller('pt-PT');
  await grantCredits(service.sql, accountId, { credits: 1234 }, 'test');
  await use(8);
  await check();
  expect((await mail.mailTo(email)).text).toContain('gastam créditos comprados (saldo: 1');
  await changeLimits(service.sql, accountId, { spendPurchased: false }, 'test');
  await use(10);
  await check();
  expect((await mail.mailTo(email)).text).toContain('são recusados');
});

test('no mail goes to an unconfirmed address, a member who turned them off, or a suspended account', async () => {
  const { accountId, email, use, visitor } = await createCaller();
  await service.sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${email}`;
  await use(9);
  await check();
  const form = { form: 'form[action$="/alerts"]' };
  const turned = await visitor.submit('/dashboard/settings', {}, form);
  expect(turned.headers.get('location')).toBe('/dashboard/settings?done=saved');
  await service.sql`UPDATE dashboard_users SET "emailVerified" = true WHERE "email" = ${email}`;
  await check();
  // A suspension ends the session.
  await visitor.submit('/dashboard/settings', {}, form);
  await service.sql`UPDATE accounts SET suspended_at = now() WHERE id = ${accountId}`;
  await check();
  expect(mail.received(email)).toBe(0);
  await service.sql`UPDATE accounts SET suspended_at = NULL WHERE id = ${accountId}`;
  await check();
  expect((await mail.mailTo(email)).text).toContain('90%');
});

test('a mail that the relay does not take is sent by a later run; the log has no address', async () => {
  const { email, use } = await createCaller();
  await use(8);
  await send('smtp://127.0.0.1:9');
  expect(logLines.join()).toContain('a mail was not sent');
  expect(logLines.join()).not.toContain(email);
  expect(mail.received(email)).toBe(0);
  await check();
  await mail.mailTo(email);
  expect(mail.received(email)).toBe(0);
});

test('an instance that sends one mail for long, or ends meanwhile, keeps no other mail from being sent', async () => {
  const callers = [await createCaller(), await createCaller()];
  for (const { use } of callers) await use(8);
  const received = () => callers.map(({ email }) => mail.received(email));
  const begun = Promise.withResolvers<void>();
  const slow = Promise.withResolvers<boolean>();
  const sendSlowly = () => {
    begun.resolve();
    return slow.promise;
  };
  const run = send(mail.url, { send: sendSlowly });
  await begun.promise;
  await check();
  expect(received().toSorted()).toEqual([0, 1]);
  slow.resolve(false);
  await run;
  await check();
  expect(received()).toEqual([1, 1]);
});

test('calls of the API bring the mails about within a minute', async () => {
  const { email, visitor } = await createCaller();
  const key = await makeKey(visitor);
  const call = () => fetch(`${service.url}/companies?q=a`, { headers: { Authorization: `Bearer ${key}` } });
  for (let calls = 0; calls < 8; calls += 1) expect((await call()).status).toBe(200);
  await until('the mail of the second run', () => {
    for (const task of everyMinute) task();
    return mail.received(email) > 0;
  });
  expect((await mail.mailTo(email)).text).toContain('80%');
});

test('what was sent to a member is forgotten with them', async () => {
  const { accountId, use } = await createCaller();
  const [user] =
    await service.sql`SELECT user_id AS id FROM dashboard_members WHERE account_id = ${accountId}`;
  const sent = async () =>
    (await service.sql`SELECT 1 FROM dashboard_sent_mails WHERE user_id = ${user!.id}`).length;
  await use(10);
  await check();
  expect(await sent()).toBe(2);
  await deleteAccount(service.sql, accountId, 'test');
  expect(await sent()).toBe(0);
});

test('the switch for purchased credits is with the credits, and the ledger says who turned it', async () => {
  const { accountId, visitor } = await createCaller();
  const spends = async () =>
    (await service.sql`SELECT spend_purchased FROM balances WHERE account_id = ${accountId}`)[0]!
      .spend_purchased;
  await visitor.submit('/dashboard/credits/spending', {});
  expect(await spends()).toBe(false);
  expect((await visitor.get('/dashboard/credits')).text).toContain('Purchased credits stay');
  await visitor.submit('/dashboard/credits/spending', {});
  expect(await spends()).toBe(true);
  const [event] = await service.sql`
    SELECT actor FROM account_events WHERE account_id = ${accountId} AND kind = 'limits' ORDER BY id DESC LIMIT 1`;
  expect(event!.actor).toStartWith('dashboard:');
});
