/** Every mail of the service: those of src/dashboard/auth/mail-text.ts, and those of src/dashboard/mails. */
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
import { startMailedDashboard } from '../service.ts';
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
  ...invitation,
  isElsewhere: false,
  reason: 'Invoice 17',
  by: 'ana@example.com',
  client: 'claude.ai',
  contact: 'help@example.com',
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
      const [one, two, ...more] = text.split('――――――――――');
      expect([
        one!.trim().endsWith(MESSAGES[first].brand),
        two!.trim().endsWith(MESSAGES[second].brand),
      ]).toEqual([true, true]);
      expect(more).toEqual([]);
      expect(one!.trim()).not.toBe(two!.trim());
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
  expect(NAMES.filter((name) => LIST[name]!.to === 'stranger')).toEqual([
    'confirm',
    'new-email',
    'invitation',
    'invitation-elsewhere',
  ]);
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
  expect([end(new Date('2026-11-27T00:00:00Z')), end(new Date('2026-11-27T10:30:00Z'))]).toEqual([
    '26 nov 2026',
    '27 nov 2026, 10:30 UTC',
  ]);
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
