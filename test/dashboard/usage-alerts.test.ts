/** Mails when 80% and 100% of the allowance are used (contract: usage alerts). */
import { afterAll, beforeEach, expect, test } from 'bun:test';
import { deleteAccount } from '../../src/account-data/delete.ts';
import { changeLimits, changePlan } from '../../src/accounts/changes.ts';
import { grantCredits } from '../../src/accounts/grant.ts';
import { createMailer, type Mailer } from '../../src/dashboard/auth/mail.ts';
import { createUsageAlerts, type UsageAlerts } from '../../src/dashboard/usage/usage-alerts.ts';
import { createLogTo } from '../../src/observability/log.ts';
import { eventually, until } from '../support/until.ts';
import { startMailedDashboard } from './service.ts';
import { createVisitor, makeKey, signUpByMail } from './visitor.ts';

let mailers: Mailer[];
/** Of two instances. */
let instances: UsageAlerts[];
let logLines: string[];
const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());
beforeEach(() => {
  logLines = [];
  mailers = [mailerTo(mail.url), mailerTo(mail.url)];
  instances = mailers.map(alertsBy);
});

const log = () => createLogTo({ write: (line) => void logLines.push(line) });
const mailerTo = (url: string) => createMailer(url, null, 'https://example.com', log());
const alertsBy = (mailer: Mailer) =>
  createUsageAlerts({
    sql: service.sql,
    mailer,
    dashboardUrl: 'https://example.com/dashboard',
    buyUrl: 'https://shop.example.com/{account}',
    log: log(),
  });

/** A new account with an allowance of 10. The service's own roll-up sends no alert about it. */
async function createMember(language = 'en') {
  const visitor = createVisitor(service.baseUrl, { language });
  const person = await signUpByMail(visitor, mail);
  await changeLimits(service.sql, person.accountId, { includedCredits: 10 }, 'test');
  const use = async (used: number) => {
    await service.sql`UPDATE balances SET used = ${used} WHERE account_id = ${person.accountId}`;
  };
  return { ...person, visitor, use };
}

/** Both instances look at once, twice. */
async function check(accountId: string): Promise<void> {
  for (let time = 0; time < 2; time += 1) {
    for (const instance of instances) instance.check([accountId]);
    await Promise.all(instances.map((instance) => instance.close()));
  }
}

test('each member gets one mail at 80% and one at 100%, once a period, although two instances look again and again', async () => {
  const { accountId, email, use } = await createMember();
  await use(7);
  await check(accountId);
  expect(mail.received(email)).toBe(0);
  await use(8);
  await check(accountId);
  const nearly = await mail.mailTo(email);
  expect(nearly.text).toContain('80% of your calls are used');
  expect(nearly.text).toContain('used 8 of the 10 calls');
  expect(nearly.text).toContain('https://example.com/dashboard/settings');
  await use(9);
  await check(accountId);
  expect(mail.received(email)).toBe(0);
  await use(10);
  await check(accountId);
  expect((await mail.mailTo(email)).text).toContain('100% of your calls are used');
  await use(15);
  await check(accountId);
  expect(mail.received(email)).toBe(0);
  await changePlan(service.sql, accountId, 'plus', {}, 'test');
  await check(accountId);
  expect(mail.received(email)).toBe(0);
  await use(9);
  await check(accountId);
  expect((await mail.mailTo(email)).text).toContain('80%');
  expect(mail.received(email)).toBe(0);
});

test('credits that come back below a threshold send no second mail', async () => {
  const { accountId, email, use } = await createMember();
  for (const used of [8, 7, 8]) {
    await use(used);
    await check(accountId);
  }
  await mail.mailTo(email);
  expect(mail.received(email)).toBe(0);
});

test('the mail is in the language of the latest visit, and says what happens beyond the plan', async () => {
  const { accountId, email, use } = await createMember('pt-PT');
  await grantCredits(service.sql, accountId, { credits: 1234 }, 'test');
  await use(8);
  await check(accountId);
  expect((await mail.mailTo(email)).text).toContain('gastam os seus 1');
  await changeLimits(service.sql, accountId, { spendPurchased: false }, 'test');
  await use(10);
  await check(accountId);
  expect((await mail.mailTo(email)).text).toContain('são recusadas');
});

test('no mail goes to an unconfirmed address, a member who turned them off, or a suspended account', async () => {
  const { accountId, email, use, visitor } = await createMember();
  await service.sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${email}`;
  await use(9);
  await check(accountId);
  const form = { form: 'form[action$="/alerts"]' };
  const turned = await visitor.submit('/dashboard/settings', {}, form);
  expect(turned.headers.get('location')).toBe('/dashboard/settings?done=saved');
  await service.sql`UPDATE dashboard_users SET "emailVerified" = true WHERE "email" = ${email}`;
  await check(accountId);
  // Before the switch: the service's own roll-up may check at any moment.
  await service.sql`UPDATE accounts SET suspended_at = now() WHERE id = ${accountId}`;
  await visitor.submit('/dashboard/settings', {}, form);
  await check(accountId);
  expect(mail.received(email)).toBe(0);
  await service.sql`UPDATE accounts SET suspended_at = NULL WHERE id = ${accountId}`;
  await check(accountId);
  expect((await mail.mailTo(email)).text).toContain('80%');
});

test('a mail that the relay does not take is sent later, by another instance or after a pause; the log has no address', async () => {
  const { accountId, email, use } = await createMember();
  const away = alertsBy(mailerTo('smtp://127.0.0.1:9'));
  await use(8);
  away.check([accountId]);
  await away.close();
  expect(logLines.join()).toContain('a mail was not sent');
  expect(logLines.join()).not.toContain(email);
  expect(mail.received(email)).toBe(0);
  await check(accountId);
  await mail.mailTo(email);
  expect(mail.received(email)).toBe(0);
});

test('an instance that starts finds what was due before', async () => {
  const { email, use } = await createMember();
  await use(8);
  instances[0]!.check([]);
  await instances[0]!.close();
  await mail.mailTo(email);
});

test('calls of the API bring the mails about by themselves', async () => {
  const { email, visitor } = await createMember();
  const key = await makeKey(visitor);
  const call = () => fetch(`${service.url}/companies?q=a`, { headers: { Authorization: `Bearer ${key}` } });
  for (let calls = 0; calls < 8; calls += 1) expect((await call()).status).toBe(200);
  await until('the mail at 80%', () => mail.received(email) === 1);
  expect((await mail.mailTo(email)).text).toContain('80%');
  for (let calls = 0; calls < 2; calls += 1) await call();
  await until('the mail at 100%', () => mail.received(email) === 1);
  expect((await mail.mailTo(email)).text).toContain('100%');
});

test('an account adds alerts: an address at a percentage, and another when purchased credits run low', async () => {
  const { accountId, visitor, use } = await createMember();
  const [finance, boss] = [`f-${accountId}@example.com`, `b-${accountId}@example.com`];
  const page = '/dashboard/settings/own-alerts';
  const add = (email: string, kind: string, threshold: string) =>
    visitor.submit(page, { email, kind, threshold }, { form: '.narrow form' });
  for (const wrong of ['0', '101', 'x', '']) expect((await add(finance, 'percent', wrong)).status).toBe(422);
  expect((await add('finance', 'percent', '50')).status).toBe(422);
  for (const _ of [1, 2]) expect((await add(finance, 'percent', '50')).status).toBe(303);
  expect((await add(boss, 'credits', '20')).status).toBe(303);
  expect((await visitor.get(page)).document.querySelectorAll('tbody tr')).toHaveLength(2);

  await use(4);
  await check(accountId);
  // An account that never bought any gets no mail about purchased credits.
  expect([mail.received(finance), mail.received(boss)]).toEqual([0, 0]);
  await use(5);
  await check(accountId);
  const { text } = await mail.mailTo(finance);
  expect(text).toContain('50% of your calls are used');
  expect(text).toContain(`https://shop.example.com/${accountId}`);
  for (const credits of [100, 21, 20, 0]) {
    if (credits === 100) await grantCredits(service.sql, accountId, { credits }, 'test');
    await service.sql`
      UPDATE balances SET used_purchased = used_purchased + credits - ${credits}, credits = ${credits}
      WHERE account_id = ${accountId}`;
    await check(accountId);
    expect(mail.received(boss)).toBe(credits > 20 ? 0 : 1);
  }
  expect((await mail.mailTo(boss)).text).toContain('20 purchased credits are left');
  // A further purchase is a further alert.
  await grantCredits(service.sql, accountId, { credits: 5 }, 'test');
  await check(accountId);
  expect((await mail.mailTo(boss)).text).toContain('5 purchased credits are left');
  expect(mail.received(finance)).toBe(0);

  // The reader of the mail ends it, without a session; the account removes the other.
  const stop = new URL(/http\S+stop/.exec(text)![0]).pathname;
  expect((await createVisitor(service.baseUrl).submit(stop, {})).text).toContain('no more of these mails');
  await visitor.submit(page, {}, { form: 'td form' });
  expect((await visitor.get(page)).document.querySelector('tbody')).toBeNull();
});

test('own alerts are ten at most, wait for a confirmed email, are sent again when the relay was away, and go with the account', async () => {
  const { accountId, email, visitor, use } = await createMember();
  const page = '/dashboard/settings/own-alerts';
  const to = `x-${accountId}@example.com`;
  const add = (threshold: number) =>
    visitor.submit(
      page,
      { email: to, kind: 'percent', threshold: String(threshold) },
      { form: '.narrow form' },
    );
  await service.sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${email}`;
  expect((await add(1)).status).toBe(403);
  await service.sql`UPDATE dashboard_users SET "emailVerified" = true WHERE "email" = ${email}`;
  for (let threshold = 91; threshold <= 100; threshold += 1) expect((await add(threshold)).status).toBe(303);
  expect((await add(50)).status).toBe(409);
  await service.sql`DELETE FROM dashboard_own_alerts WHERE account_id = ${accountId} AND threshold > 91`;
  await use(10);
  const away = alertsBy(mailerTo('smtp://127.0.0.1:9'));
  away.check([accountId]);
  await away.close();
  expect(mail.received(to)).toBe(0);
  await check(accountId);
  expect((await mail.mailTo(to)).text).toContain('91%');
  expect(mail.received(to)).toBe(0);
  await deleteAccount(service.sql, accountId, 'test');
  expect(await service.sql`SELECT 1 FROM dashboard_own_alerts WHERE account_id = ${accountId}`).toHaveLength(
    0,
  );
});

test('the switch for purchased credits is in the settings, and the ledger says who turned it', async () => {
  const { accountId, visitor } = await createMember();
  const spends = async () =>
    (await service.sql`SELECT spend_purchased FROM balances WHERE account_id = ${accountId}`)[0]!
      .spend_purchased;
  await visitor.submit('/dashboard/settings/spending', {});
  expect(await spends()).toBe(false);
  await eventually(
    async () => (await visitor.get('/dashboard/settings')).text.includes('Purchased credits stay'),
    true,
  );
  await visitor.submit('/dashboard/settings/spending', {});
  expect(await spends()).toBe(true);
  const [event] = await service.sql`
    SELECT actor FROM account_events WHERE account_id = ${accountId} AND kind = 'limits' ORDER BY id DESC LIMIT 1`;
  expect(event!.actor).toStartWith('dashboard:');
});
