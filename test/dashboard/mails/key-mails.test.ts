/** Mails before a key ends, and when it has ended or was revoked (docs/members.md: usage alerts). */
import { afterAll, expect, test } from 'bun:test';
import { createMailer } from '../../../src/dashboard/auth/mail.ts';
import { keyMails, sendDueMails } from '../../../src/dashboard/mails/due-mails.ts';
import { createKey, revokeKey } from '../../../src/metering/keys/store.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { startMailedDashboard } from '../service.ts';
import { createMember } from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

/** Two instances look at once. */
async function send(relay = mail.url): Promise<void> {
  const log = createLogTo({ write() {} });
  const publicUrl = 'https://example.com';
  const mailer = createMailer(relay, null, publicUrl, log);
  const parts = { sql: service.sql, mailer, publicUrl, buyUrl: null, contact: null };
  await Promise.all([sendDueMails(parts, keyMails), sendDueMails(parts, keyMails)]);
}

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
