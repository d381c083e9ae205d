/** Mails when a key has spent its budget (docs/members.md: usage alerts). */
import { afterAll, expect, test } from 'bun:test';
import { createMailer } from '../../../src/dashboard/auth/mail.ts';
import { budgetMails, sendDueMails } from '../../../src/dashboard/mails/due-mails.ts';
import { formatsOf } from '../../../src/dashboard/ui/language.ts';
import { limitKey } from '../../../src/metering/keys/limit.ts';
import type { Budget } from '../../../src/metering/keys/limits.ts';
import { createKey, revokeKey } from '../../../src/metering/keys/store.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { startMailedDashboard } from '../service.ts';
import { createMember } from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

/** Two instances look at once. */
async function send(): Promise<void> {
  const publicUrl = 'https://example.com';
  const mailer = createMailer(mail.url, null, publicUrl, createLogTo({ write() {} }));
  const parts = { sql: service.sql, mailer, publicUrl, buyUrl: null, contact: null };
  await Promise.all([sendDueMails(parts, budgetMails), sendDueMails(parts, budgetMails)]);
}

async function createKeyOwner() {
  const person = await createMember(service, { language: 'en' });
  const { id } = await createKey(service.sql, person.accountId, 'partner', 'test');
  const limit = (budget: Budget | null) => limitKey(service.sql, id, { budget }, 'test');
  const spend = (used: number) => service.sql`UPDATE key_budgets SET used = ${used} WHERE key_id = ${id}`;
  return { ...person, id, limit, spend };
}

test('a member gets one mail when a key has spent its budget, and another one for a raised budget', async () => {
  const { email, id, limit, spend } = await createKeyOwner();
  for (const credits of [50, 80]) {
    await limit({ credits, per: 'ever' });
    await spend(credits - 1);
    await send();
    expect(mail.received(email)).toBe(0);
    await spend(credits);
    await send();
    await send();
    const { text } = await mail.mailTo(email);
    expect(text).toContain('API keys have reached their credit limit');
    expect(text).toContain(`${credits} credits spent\n  https://example.com/dashboard/keys/${id}`);
    expect(mail.received(email)).toBe(0);
  }
});

test('each month has its own mail, which names the end of the month', async () => {
  const { email, id, limit, spend } = await createKeyOwner();
  const { budget } = await limit({ credits: 50, per: 'month' });
  const end = formatsOf('en').date(new Date(budget!.resets!));
  await spend(50);
  await send();
  expect((await mail.mailTo(email)).text).toContain(`until ${end} (UTC)`);
  // The window of the month before has ended.
  await service.sql`UPDATE key_budgets SET window_start = window_start - interval '1 month' WHERE key_id = ${id}`;
  await service.sql`
    UPDATE dashboard_sent_mails SET occasion = 'the month before' WHERE topic = ${`budget ${id}`}`;
  await send();
  expect(mail.received(email)).toBe(0);
  await service.sql`UPDATE key_budgets SET window_start = window_start + interval '1 month' WHERE key_id = ${id}`;
  await send();
  expect(mail.received(email)).toBe(1);
});

test('a budget of a day, one of nothing, none, and that of a revoked key have no mail', async () => {
  const { email, id, limit, spend } = await createKeyOwner();
  for (const budget of [{ credits: 50, per: 'day' }, { credits: 0, per: 'ever' }, null] as const) {
    await limit(budget);
    await spend(50);
    await send();
  }
  await limit({ credits: 50, per: 'ever' });
  await spend(50);
  await revokeKey(service.sql, id, 'test');
  await send();
  expect(mail.received(email)).toBe(0);
});
