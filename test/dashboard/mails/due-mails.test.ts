/** Mails before a key ends, when it has ended or was revoked, and when it has spent its budget (docs/members.md: usage alerts). */
import { afterAll, expect, test } from 'bun:test';
import { createMailer } from '../../../src/dashboard/auth/mail.ts';
import {
  budgetMails,
  type Due,
  keyMails,
  type MailKind,
  sendDueMails,
} from '../../../src/dashboard/mails/due-mails.ts';
import { formatsOf } from '../../../src/dashboard/ui/language.ts';
import { createKey, revokeKey } from '../../../src/metering/keys/key-store.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import type { Budget } from '../../../src/metering/keys/limits.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { startMailedDashboard } from '../service.ts';
import { createMember } from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

/** Two instances look at once. */
async function sendOf<Reason extends Due>(kind: MailKind<Reason>, relay = mail.url): Promise<void> {
  const publicUrl = 'https://example.com';
  const mailer = createMailer(relay, null, publicUrl, createLogTo({ write() {} }));
  const parts = { sql: service.sql, mailer, publicUrl, buyUrl: null, contact: null };
  await Promise.all([sendDueMails(parts, kind), sendDueMails(parts, kind)]);
}
const send = (relay?: string) => sendOf(keyMails, relay);
const sendBudgets = () => sendOf(budgetMails);

async function createKeyOwner(language = 'en') {
  const person = await createMember(service, { language });
  const { id } = await createKey(service.sql, person.accountId, 'produção', 'test');
  const expire = (hours: number, createdDaysAgo = 30) => service.sql`
    UPDATE api_keys SET expires_at = now() + ${hours} * interval '1 hour',
      created_at = now() - ${createdDaysAgo} * interval '1 day' WHERE id = ${id}`;
  return { ...person, id, expire };
}

test('a member gets one mail 7 days before a key ends, one a day before, and one when it has ended', async () => {
  const { email, id, expire } = await createKeyOwner();
  await expire(8 * 24);
  await send();
  expect(mail.received(email)).toBe(0);
  for (const [hours, subject] of [
    [6 * 24, 'API keys end within 7 days'],
    [23, 'API keys end within a day'],
    [-1, 'API keys have expired'],
  ] as const) {
    await expire(hours);
    await send();
    await send();
    const { text } = await mail.mailTo(email);
    expect(text).toContain(subject);
    expect(text).toContain(`https://example.com/dashboard/keys/${id}`);
    expect(mail.received(email)).toBe(0);
  }
});

test('keys of one stage share a mail; a revoked key has one, and a key that was made for a short time none before its end', async () => {
  const { email, accountId, id, expire } = await createKeyOwner('pt-PT');
  const { id: second } = await createKey(service.sql, accountId, 'segunda', 'test');
  for (const key of [id, second]) await revokeKey(service.sql, key, 'test');
  await send();
  const { text } = await mail.mailTo(email);
  expect(text).toContain('O histórico da conta diz por quem.');
  for (const key of [id, second]) expect(text).toContain(`/keys/${key}`);
  expect(mail.received(email)).toBe(0);
  await service.sql`UPDATE api_keys SET revoked_at = NULL WHERE id = ${id}`;
  await expire(6 * 24, 0);
  await send();
  expect(mail.received(email)).toBe(0);
});

test('a connection has a mail when it was revoked, and none before or at its end, which its use moves', async () => {
  const { email, id, expire } = await createKeyOwner();
  await service.sql`UPDATE api_keys SET is_connection = true WHERE id = ${id}`;
  for (const hours of [6 * 24, 23, -1]) {
    await expire(hours);
    await send();
  }
  expect(mail.received(email)).toBe(0);
  await service.sql`UPDATE api_keys SET expires_at = now() + interval '30 days', revoked_at = now() WHERE id = ${id}`;
  await send();
  const { text } = await mail.mailTo(email);
  expect(text).toContain('API keys were revoked');
  expect(text).toContain(`/dashboard/keys/${id}`);
});

test('no mail goes to a member who turned them off; one that the relay does not take is sent later', async () => {
  const { email, id } = await createKeyOwner();
  await service.sql`
    UPDATE dashboard_members SET usage_alerts = false
    WHERE user_id = (SELECT "id" FROM dashboard_users WHERE "email" = ${email})`;
  await revokeKey(service.sql, id, 'test');
  await send();
  expect(mail.received(email)).toBe(0);
  await service.sql`
    UPDATE dashboard_members SET usage_alerts = true
    WHERE user_id = (SELECT "id" FROM dashboard_users WHERE "email" = ${email})`;
  await send('smtp://127.0.0.1:9');
  await send();
  expect((await mail.mailTo(email)).text).toContain('API keys were revoked');
  expect(mail.received(email)).toBe(0);
});

test('a member with very many keys gets a thousand in a mail, and does not delay other members', async () => {
  const owners = [await createKeyOwner(), await createKeyOwner(), await createKeyOwner()];
  const [many] = owners;
  for (const { expire } of owners) await expire(23);
  await service.sql`
    INSERT INTO api_keys (id, account_id, name, start, secret_sha256, created_at, expires_at)
    SELECT ${many!.id} || n, account_id, '', start, sha256(convert_to(id || n, 'UTF8')), created_at, expires_at
    FROM api_keys, generate_series(1, 1499) AS n WHERE id = ${many!.id}`;
  const keysIn = ({ text }: { text: string }) => text.split('/dashboard/keys/').length - 1;
  await send();
  const mails = await Promise.all(owners.map(({ email }) => mail.mailTo(email)));
  // Each key stands in both languages.
  const per = keysIn(mails[1]!);
  expect(mails.map(keysIn)).toEqual([1000 * per, per, per]);
  await send();
  expect(keysIn(await mail.mailTo(many!.email))).toBe(500 * per);
  await send();
  for (const { email } of owners) expect(mail.received(email)).toBe(0);
});

async function createBudgetOwner() {
  const person = await createMember(service, { language: 'en' });
  const { id } = await createKey(service.sql, person.accountId, 'partner', 'test');
  const limit = (budget: Budget | null) => limitKey(service.sql, id, { budget }, 'test');
  const spend = (used: number) => service.sql`UPDATE key_budgets SET used = ${used} WHERE key_id = ${id}`;
  return { ...person, id, limit, spend };
}

test('a member gets one mail when a key has spent its budget, and another one for a raised budget', async () => {
  const { email, id, limit, spend } = await createBudgetOwner();
  for (const credits of [50, 80]) {
    await limit({ credits, per: 'ever' });
    await spend(credits - 1);
    await sendBudgets();
    expect(mail.received(email)).toBe(0);
    await spend(credits);
    await sendBudgets();
    await sendBudgets();
    const { text } = await mail.mailTo(email);
    expect(text).toContain('API keys have reached their credit limit');
    expect(text).toContain(`${credits} credits spent\n  https://example.com/dashboard/keys/${id}`);
    expect(mail.received(email)).toBe(0);
  }
});

test('each month has its own mail, which names the end of the month', async () => {
  const { email, id, limit, spend } = await createBudgetOwner();
  const { budget } = await limit({ credits: 50, per: 'month' });
  const end = formatsOf('en').date(new Date(budget!.resets!));
  await spend(50);
  await sendBudgets();
  expect((await mail.mailTo(email)).text).toContain(`until ${end} (UTC)`);
  // The window of the month before has ended.
  await service.sql`UPDATE key_budgets SET window_start = window_start - interval '1 month' WHERE key_id = ${id}`;
  await service.sql`
    UPDATE dashboard_sent_mails SET occasion = 'the month before' WHERE topic = ${`budget ${id}`}`;
  await sendBudgets();
  expect(mail.received(email)).toBe(0);
  await service.sql`UPDATE key_budgets SET window_start = window_start + interval '1 month' WHERE key_id = ${id}`;
  await sendBudgets();
  expect(mail.received(email)).toBe(1);
});

test('a budget of a day, one of nothing, none, and that of a revoked key have no mail', async () => {
  const { email, id, limit, spend } = await createBudgetOwner();
  for (const budget of [{ credits: 50, per: 'day' }, { credits: 0, per: 'ever' }, null] as const) {
    await limit(budget);
    await spend(50);
    await sendBudgets();
  }
  await limit({ credits: 50, per: 'ever' });
  await spend(50);
  await revokeKey(service.sql, id, 'test');
  await sendBudgets();
  expect(mail.received(email)).toBe(0);
});
