/** Mails that answer no request: about usage, plan, keys and their budgets (docs/members.md: usage alerts). */
import { afterAll, expect, spyOn, test } from 'bun:test';
import { createMailer } from '../../../src/dashboard/auth/mail.ts';
import { DUE_MAILS, type DueMailParts, sendAllDueMails } from '../../../src/dashboard/mails/due-mails.ts';
import { formatsOf } from '../../../src/dashboard/ui/language.ts';
import { changeLimits, changePlan, setSuspended } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { createKey, revokeKey } from '../../../src/metering/keys/key-store.ts';
import { limitKey } from '../../../src/metering/keys/limit-key.ts';
import type { Budget } from '../../../src/metering/keys/limits.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { DAY, MINUTE } from '../../../src/platform/units.ts';
import { until } from '../../support/until.ts';
import { startMailedDashboard } from '../service.ts';
import { createMember, makeKey } from '../visitor.ts';

const timers = spyOn(globalThis, 'setInterval');
const { mail, service, stop } = await startMailedDashboard();
const everyMinute = timers.mock.calls.filter(([, everyMs]) => everyMs === MINUTE).map(([task]) => task);
timers.mockRestore();
afterAll(() => stop());
const { sql } = service;

const logLines: string[] = [];

/** One run of an instance. */
function run(relay = mail.url, given: Partial<DueMailParts> = {}): Promise<void> {
  const [publicUrl, buyUrl] = ['https://example.com', 'https://shop.example.com/{account}'];
  const log = createLogTo({ write: (line) => void logLines.push(line) });
  const mailer = createMailer(relay, null, publicUrl, log);
  return sendAllDueMails({ sql, mailer, publicUrl, buyUrl, contact: 'mailto:help@example.com', ...given });
}

const inDays = (days: number) => new Date(Date.now() + days * DAY);

/** A member of a new account with an allowance of 10 and a key, and what can be due to them. */
async function createOwner(language = 'en') {
  const person = await createMember(service, { language });
  const { accountId, email } = person;
  await changeLimits(sql, accountId, { includedCredits: 10 }, 'test');
  const { id } = await createKey(sql, accountId, 'produção', 'test');
  /** Two instances look at once, twice. @returns the text of the only mail; `null` if none has come */
  async function due(): Promise<string | null> {
    for (let time = 0; time < 2; time += 1) await Promise.all([run(), run()]);
    const text = mail.received(email) === 0 ? null : (await mail.mailTo(email)).text;
    expect(mail.received(email)).toBe(0);
    return text;
  }
  return {
    ...person,
    id,
    due,
    use: (used: number) => sql`UPDATE balances SET used = ${used} WHERE account_id = ${accountId}`,
    expire: (hours: number, createdDaysAgo = 30) => sql`
      UPDATE api_keys SET expires_at = now() + ${hours} * interval '1 hour',
        created_at = now() - ${createdDaysAgo} * interval '1 day' WHERE id = ${id}`,
    limit: (budget: Budget | null) => limitKey(sql, id, { budget }, 'test'),
    spend: (used: number) => sql`UPDATE key_budgets SET used = ${used} WHERE key_id = ${id}`,
    async endPlan(days: number, since = -30) {
      await changePlan(sql, accountId, 'plus', { until: inDays(30) }, 'test');
      await sql`
        UPDATE balances SET plus_until = ${inDays(days)}, plan_since = ${inDays(since)} WHERE account_id = ${accountId}`;
    },
    user: (change: object) => sql`UPDATE dashboard_users SET ${sql({ ...change })} WHERE "email" = ${email}`,
  };
}

/** A reason for a mail of each kind. */
const REASONS: Record<string, (owner: Awaited<ReturnType<typeof createOwner>>) => Promise<unknown>> = {
  usage: ({ use }) => use(9),
  async budgets({ limit, spend }) {
    await limit({ credits: 50, per: 'ever' });
    await spend(50);
  },
  keys: ({ id }) => revokeKey(sql, id, 'test'),
  plan: ({ endPlan }) => endPlan(3),
};

test.each([...DUE_MAILS.keys()])(
  'a mail about %s goes to no member who turned them off, no unconfirmed address and no suspended account; one that the relay does not take is sent later',
  async (kind) => {
    const owner = await createOwner();
    const { accountId, visitor, email, due, user } = owner;
    await REASONS[kind]!(owner);
    const turn = () => visitor.submit('/dashboard/settings', {}, { form: 'form[action$="/alerts"]' });
    expect((await turn()).headers.get('location')).toBe('/dashboard/settings?done=saved');
    expect(await due()).toBeNull();
    await turn();
    await user({ emailVerified: false });
    expect(await due()).toBeNull();
    await user({ emailVerified: true });
    await setSuspended(sql, accountId, true, 'test');
    expect(await due()).toBeNull();
    await setSuspended(sql, accountId, false, 'test');
    await run('smtp://127.0.0.1:9');
    expect(logLines.join()).toContain('a mail was not sent');
    expect(logLines.join()).not.toContain(email);
    expect(mail.received(email)).toBe(0);
    expect(await due()).toContain('https://example.com/dashboard/settings');
  },
);

test('each member gets one mail at 80% and one at 100%, once a period', async () => {
  const { accountId, due, use } = await createOwner();
  await use(7);
  expect(await due()).toBeNull();
  await use(8);
  const nearly = await due();
  expect(nearly).toContain('80% of your included credits are used');
  expect(nearly).toContain('Included credits used: 8 of 10');
  // Also when credits come back below the threshold.
  for (const used of [9, 7, 8]) {
    await use(used);
    expect(await due()).toBeNull();
  }
  await use(10);
  expect(await due()).toContain('100% of your included credits are used');
  await use(15);
  expect(await due()).toBeNull();
  await changePlan(sql, accountId, 'plus', {}, 'test');
  expect(await due()).toBeNull();
  await use(9);
  expect(await due()).toContain('90%');
});

test('credits that are back at the next run send no mail', async () => {
  const { email, use } = await createOwner();
  const lastRun: DueMailParts['lastRun'] = new Map();
  for (const used of [8, 7, 8]) {
    await use(used);
    await run(mail.url, { lastRun });
    expect(mail.received(email)).toBe(0);
  }
  await run(mail.url, { lastRun });
  expect((await mail.mailTo(email)).text).toContain('80%');
});

test('of two thresholds that are crossed at once one mail is sent, with the true share', async () => {
  const { due, use } = await createOwner();
  await use(13);
  const text = await due();
  expect(text).toContain('130% of your included credits are used');
  expect(text).toContain('Included credits used: 13 of 10');
});

test('the mail is in the language of the latest visit, and says what happens beyond the plan', async () => {
  const { accountId, due, use } = await createOwner('pt-PT');
  await grantCredits(sql, accountId, { credits: 1234 }, 'test');
  await use(8);
  expect(await due()).toContain('gastam créditos comprados (saldo: 1');
  await changeLimits(sql, accountId, { spendPurchased: false }, 'test');
  await use(10);
  expect(await due()).toContain('são recusados');
});

test('an instance that sends one mail for long, or ends meanwhile, keeps no other mail from being sent', async () => {
  const callers = [await createOwner(), await createOwner()];
  for (const { use } of callers) await use(8);
  const received = () => callers.map(({ email }) => mail.received(email));
  const [begun, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
  const send = () => {
    begun.resolve();
    return slow.promise;
  };
  const running = run(mail.url, { mailer: { send } });
  await begun.promise;
  await run();
  expect(received().toSorted()).toEqual([0, 1]);
  slow.resolve(false);
  await running;
  await run();
  expect(received()).toEqual([1, 1]);
});

test('calls of the API bring the mails about within a minute', async () => {
  const { email, visitor } = await createOwner();
  const headers = { Authorization: `Bearer ${await makeKey(visitor)}` };
  for (let calls = 0; calls < 8; calls += 1)
    expect((await fetch(`${service.url}/companies?q=a`, { headers })).status).toBe(200);
  await until('the mail of the second run', () => {
    for (const task of everyMinute) task();
    return mail.received(email) > 0;
  });
  expect((await mail.mailTo(email)).text).toContain('80%');
});

test('a member has one mail 7 days before a key ends, one a day before, and one when it has ended', async () => {
  const { id, expire, due } = await createOwner();
  await expire(8 * 24);
  expect(await due()).toBeNull();
  for (const [hours, subject] of [
    [6 * 24, 'API keys end within 7 days'],
    [23, 'API keys end within a day'],
    [-1, 'API keys have expired'],
  ] as const) {
    await expire(hours);
    const text = await due();
    expect(text).toContain(subject);
    expect(text).toContain(`https://example.com/dashboard/keys/${id}`);
    expect(await due()).toBeNull();
  }
  // One that was made for a short time has none before its end.
  await expire(6 * 24 + 1, 0);
  expect(await due()).toBeNull();
});

test('a connection has a mail when it was revoked, and none before or at its end, which its use moves', async () => {
  const { id, expire, due } = await createOwner();
  await sql`UPDATE api_keys SET is_connection = true WHERE id = ${id}`;
  for (const hours of [6 * 24, 23, -1]) {
    await expire(hours);
    expect(await due()).toBeNull();
  }
  await sql`UPDATE api_keys SET expires_at = now() + interval '30 days', revoked_at = now() WHERE id = ${id}`;
  expect(await due()).toContain('API keys were revoked');
});

test('a member with very many keys gets a thousand in a mail, and does not delay other members', async () => {
  const owners = [await createOwner(), await createOwner(), await createOwner()];
  const [many] = owners;
  for (const { expire } of owners) await expire(23);
  await sql`
    INSERT INTO api_keys (id, account_id, name, start, secret_sha256, created_at, expires_at)
    SELECT ${many!.id} || n, account_id, '', start, sha256(convert_to(id || n, 'UTF8')), created_at, expires_at
    FROM api_keys, generate_series(1, 1499) AS n WHERE id = ${many!.id}`;
  const keysIn = ({ text }: { text: string }) => text.split('/dashboard/keys/').length - 1;
  await Promise.all([run(), run()]);
  const mails = await Promise.all(owners.map(({ email }) => mail.mailTo(email)));
  // Each key stands in both languages.
  const per = keysIn(mails[1]!);
  expect(mails.map(keysIn)).toEqual([1000 * per, per, per]);
  await Promise.all([run(), run()]);
  expect(keysIn(await mail.mailTo(many!.email))).toBe(500 * per);
  for (const { due } of owners) expect(await due()).toBeNull();
});

test('a member has one mail when a key has spent its budget, and another one for a raised budget', async () => {
  const { id, limit, spend, due } = await createOwner();
  for (const credits of [50, 80]) {
    await limit({ credits, per: 'ever' });
    await spend(credits - 1);
    expect(await due()).toBeNull();
    await spend(credits);
    const text = await due();
    expect(text).toContain('API keys have reached their credit limit');
    expect(text).toContain(`${credits} credits spent\n  https://example.com/dashboard/keys/${id}`);
    expect(await due()).toBeNull();
  }
});

test('each month has its own mail, which names the end of the month', async () => {
  const { id, limit, spend, due } = await createOwner();
  const { budget } = await limit({ credits: 50, per: 'month' });
  await spend(50);
  expect(await due()).toContain(`until ${formatsOf('en').date(new Date(budget!.resets!))} (UTC)`);
  // The window of the month before has ended.
  const move = (months: number) => sql`
    UPDATE key_budgets SET window_start = window_start + ${months} * interval '1 month' WHERE key_id = ${id}`;
  await move(-1);
  await sql`UPDATE dashboard_sent_mails SET occasion = 'the month before' WHERE topic = ${`budget ${id}`}`;
  expect(await due()).toBeNull();
  await move(1);
  expect(await due()).not.toBeNull();
});

test('a budget of a day, one of nothing, none, and that of a revoked key have no mail', async () => {
  const { id, limit, spend, due } = await createOwner();
  for (const budget of [{ credits: 50, per: 'day' }, { credits: 0, per: 'ever' }, null] as const) {
    await limit(budget);
    await spend(50);
    expect(await due()).toBeNull();
  }
  await limit({ credits: 50, per: 'ever' });
  await spend(50);
  await revokeKey(sql, id, 'test');
  expect(await due()).toContain('API keys were revoked');
});

test('a member has one mail 7 days before the plan ends, and one when it has ended; a new end has new ones', async () => {
  const { accountId, endPlan, due } = await createOwner();
  await endPlan(30);
  expect(await due()).toBeNull();
  for (const _ of ['first', 'renewed']) {
    await endPlan(6);
    const [row] = await sql<{ until: Date }[]>`
      SELECT plus_until AS until FROM balances WHERE account_id = ${accountId}`;
    const text = await due();
    expect(text).toContain('Your plan ends within 7 days');
    expect(text).toContain(`Plus ends on ${formatsOf('en').end(row!.until)}.`);
    expect(text).toContain('Ask the operator of this service to renew it. help@example.com');
    await endPlan(-0.5);
    const after = 'Credits a month: 10, requests a minute: 20, keys: 2. Further keys still work.';
    expect(await due()).toContain(after);
  }
  await endPlan(6, -0.1);
  expect(await due()).toBeNull();
});
