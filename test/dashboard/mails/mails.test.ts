/** Every mail of the service, and the commands that send some, with those about pending invitations (docs/commands.md). */
import { afterAll, describe, expect, test } from 'bun:test';
import { createUser } from '../../../src/dashboard/account/invitations.ts';
import { MAILS, type Mail, writeMail } from '../../../src/dashboard/auth/mail-text.ts';
import {
  budgetMails,
  dueMail,
  keyMails,
  planMails,
  usageAlerts,
} from '../../../src/dashboard/mails/due-mails.ts';
import { MESSAGES } from '../../../src/dashboard/messages.ts';
import { formatsOf } from '../../../src/dashboard/ui/language.ts';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { createCommandLine } from '../../support/command.ts';
import { startMailedDashboard, startMailServer } from '../service.ts';
import { createMember, newPerson } from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

const url = 'https://example.com/dashboard/somewhere';
const expires = new Date('2026-12-01T00:00:00Z');
const until = expires;
const link = { url, expires };
const invitation = { ...link, inviter: 'ana@example.com' };
const addresses = { publicUrl: 'https://example.com', buyUrl: url, contact: null };
const of = { accountId: 'acc_1', topic: 'topic', occasion: 'occasion' };

const usage = { ...of, used: 13, included: 10, periodEnd: until, credits: 5, spendPurchased: true };
const plan = { ...of, until, calls: 500, rate: 20, keys: 2 };
const spentKey = { ...of, keyId: 'key_1', name: 'prod', start: 'svc_1', credits: 50 };
const key = { ...of, keyId: 'key_1', name: 'prod', start: 'svc_1', endsAt: until };

const values = {
  ...{ ...invitation, isElsewhere: false, reason: 'Invoice 17' },
  ...{ by: 'ana@example.com', client: 'claude.ai', contact: 'help@example.com' },
};
const LIST: Record<string, Mail> = {
  ...Object.fromEntries(Object.entries(MAILS).map(([name, make]) => [name, make(values)])),
  'invitation-elsewhere': MAILS.invitation({ ...invitation, isElsewhere: true }),
  usage: dueMail(usageAlerts, [usage], addresses),
  'usage-off': dueMail(usageAlerts, [{ ...usage, spendPurchased: false }], addresses),
  keys: dueMail(keyMails, [{ ...key, stage: 'week' }], addresses),
  'budget-month': dueMail(budgetMails, [{ ...spentKey, per: 'month', resets: until }], addresses),
  'budget-ever': dueMail(budgetMails, [{ ...spentKey, per: 'ever', resets: null }], addresses),
  plan: dueMail(planMails, [{ ...plan, stage: 'ended' }], addresses),
};
const NAMES = Object.keys(LIST);
const ACCOUNT = 'Padaria http://evil.example';

const written = (name: string, language: 'en' | 'pt', isSuspended = false) =>
  writeMail(LIST[name]!, { to: 'rui@example.com', language, account: { name: ACCOUNT, isSuspended } });

describe.each(NAMES)('the mail %s', (name) => {
  test('is in both languages, the reader’s first, without a value that is missing or raw', () => {
    for (const [first, second] of [
      ['en', 'pt'],
      ['pt', 'en'],
    ] as const) {
      const { subject, text } = written(name, first)!;
      expect(subject).toStartWith(`${MESSAGES[first].brand}: `);
      const parts = text.split('――――――――――').map((part) => part.trim());
      const ends = [first, second].map((language, at) => parts[at]?.endsWith(MESSAGES[language].brand));
      expect([parts.length, ...ends]).toEqual([2, true, true]);
      expect(parts[0]).not.toBe(parts[1]);
      expect(subject + text).not.toMatch(/[{}]|undefined|null|mailto:|NaN/);
    }
  });

  test('names the account to a member, and nothing that a customer typed to a stranger', () => {
    const { to } = LIST[name]!;
    for (const language of ['en', 'pt'] as const) {
      const { subject, text } = written(name, language)!;
      const named = text.split(`${MESSAGES[language].mailAccount(ACCOUNT)}\n`).length - 1;
      expect([name, named]).toEqual([name, to === 'member' ? 1 : 0]);
      if (to === 'stranger') expect(subject + text).not.toContain('evil');
    }
  });

  test('is sent by a suspended account only if it is about the suspension or security', () => {
    expect(written(name, 'en', true) === null).toBe(LIST[name]!.about === 'account');
  });
});

test('the mails that strangers get are those to addresses that no member has confirmed', () => {
  const strangers = ['confirm', 'new-email', 'invitation', 'invitation-elsewhere'];
  expect(NAMES.filter((name) => LIST[name]!.to === 'stranger')).toEqual(strangers);
});

test('a long name of an account is cut to 60 characters', () => {
  const account = { name: 'n'.repeat(200), isSuspended: false };
  const { text } = writeMail(MAILS.reset(link), { to: 'a@example.com', language: 'en', account })!;
  expect(text).toContain(`Account: ${'n'.repeat(60)}…`);
  expect(text).not.toContain('n'.repeat(61));
});

test('the mail to an account that does not spend its purchased credits links the switch, and nothing to buy', () => {
  const { text } = written('usage-off', 'en')!;
  expect(text).toContain(`${MESSAGES.en.spending}: https://example.com/dashboard/credits/spending`);
  expect(text).not.toContain(url);
});

test('an end in a mail is the one of the pages', () => {
  const { end } = formatsOf('pt');
  expect(end(new Date('2026-11-27T00:00:00Z'))).toBe('26 nov 2026');
  expect(end(new Date('2026-11-27T10:30:00Z'))).toBe('27 nov 2026, 10:30 UTC');
});

test.each([false, true])(
  'a deleted account tells its confirmed members that it is, and who did it (suspended: %p)',
  async (isSuspended) => {
    const { visitor, accountId, email, name, password } = await createMember(service);
    const [confirmed, unconfirmed] = [newPerson(), newPerson()];
    for (const person of [confirmed, unconfirmed]) await createUser(service.sql, accountId, person, 'test');
    await service.sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${unconfirmed.email}`;
    if (isSuspended) {
      await setSuspended(service.sql, accountId, true, 'test');
      await visitor.submit('/dashboard/sign-in', { email, password });
    }
    const deleted = await visitor.submit('/dashboard/settings/delete', { name, present: password });
    expect(deleted.headers.get('location')).toEndWith('?done=deleted');
    for (const to of [email, confirmed.email])
      expect((await mail.mailTo(to)).text).toContain(`${email} deleted this account.`);
    expect(mail.received(unconfirmed.email)).toBe(0);
  },
);

const cli = createCommandLine(service.databaseUrl, { SMTP_URL: mail.url });
const unmailed = createCommandLine(service.databaseUrl, { SMTP_URL: 'smtp://127.0.0.1:9' });

test('an invitation is mailed in both languages, and the answer says so', async () => {
  const { id } = await cli.json('account', 'create', '--name', 'Padaria Central');
  const answer = await cli.json('account', 'invite', id, '--email', 'ana@example.com');
  expect(answer).toMatchObject({ id, email: 'ana@example.com', mailed: true });
  const { text } = await mail.mailTo('ana@example.com');
  expect(text).toContain(answer.link);
  expect(text).toContain('The operator of this service invites you to an account here.');
  expect(text).toContain('Recebeu um convite do operador deste serviço para uma conta.');
  expect(text).not.toContain('Padaria Central');
  const invite = ['account', 'invite', id, '--email', 'rui@example.com', '--json'];
  const { code, json, stderr } = await unmailed.run(...invite);
  expect([code, json.mailed, typeof json.link]).toEqual([0, false, 'string']);
  expect(stderr).toBe('warning: the mail was not sent (ESOCKET): check SMTP_URL and the relay\n');
});

test('a second factor is reset once, and its member has a mail', async () => {
  const { accountId: id, userId, email } = await createMember(service);
  await service.sql`UPDATE dashboard_users SET "twoFactorEnabled" = true WHERE "id" = ${userId}`;
  const reset = ['account', 'reset-second-factor', id, '--email', email.toUpperCase()];
  expect(await cli.json(...reset)).toEqual({ id, email, reset: true, mailed: true });
  expect((await mail.mailTo(email)).text).toContain('turned it off');
  expect((await cli.refusal(...reset)).code).toBe(1);
  const [member] = await cli.json('account', 'members', id);
  expect(member.secondFactor).toBe(false);
});

test('a suspension mails its reason to each member once, over few connections, and the history has it', async () => {
  const { id } = await cli.json('account', 'create', '--name', 'Padaria Central');
  await service.sql`
    WITH users AS (
      INSERT INTO dashboard_users ("id", "name", "email", "emailVerified")
      SELECT 'm' || n, 'Rita', 'm' || n || '@example.com', true FROM generate_series(1, 30) AS n RETURNING "id")
    INSERT INTO dashboard_members (user_id, account_id) SELECT "id", ${id} FROM users`;
  const relay = await startMailServer();
  const own = createCommandLine(service.databaseUrl, { SMTP_URL: relay.url });
  const suspend = ['account', 'suspend', id, '--reason', 'Invoice 17 is overdue'];
  expect(await own.json(...suspend)).toEqual({ id, suspended: true, mailed: 30 });
  expect((await relay.mailTo('m1@example.com')).text).toContain('Reason: Invoice 17 is overdue');
  // One that sends, and one that still closes.
  expect(relay.mostConnections()).toBeLessThanOrEqual(2);
  expect(await own.json(...suspend)).toEqual({ id, suspended: true, mailed: 0 });
  await relay.stop();
  const history = await cli.json('account', 'history', id);
  expect(history.at(-1)).toMatchObject({ kind: 'suspended', note: 'Invoice 17 is overdue' });
});

test('pending invitations are listed, and a withdrawn one is dead', async () => {
  const { id } = await cli.json('account', 'create', '--name', 'Test');
  await cli.json('account', 'invite', id, '--email', 'Ana@example.com');
  await cli.json('account', 'invite', id, '--email', 'rui@example.com', '--role', 'member');
  const pending = () => cli.json('account', 'invitations', id);
  expect(await pending()).toMatchObject([
    { email: 'ana@example.com', actor: expect.stringMatching(/^cli:/), expires: expect.any(String) },
    { email: 'rui@example.com', role: 'member' },
  ]);
  const withdraw = ['account', 'withdraw-invitation', id, '--email', 'ANA@example.com'];
  expect(await cli.json(...withdraw)).toEqual({ id, email: 'ana@example.com', withdrawn: true });
  expect(await pending()).toMatchObject([{ email: 'rui@example.com' }]);
  expect((await cli.refusal(...withdraw)).code).toBe(1);
  const history = await cli.json('account', 'history', id);
  expect(history.at(-1).kind).toBe('invitation-withdrawn');
});
