/** Each state has its texts, and each place of the table shows them. */
import { afterAll, expect, test } from 'bun:test';
import { createMailer } from '../../src/dashboard/auth/mail.ts';
import { sendAllDueMails } from '../../src/dashboard/mails/due-mails.ts';
import { MESSAGES } from '../../src/dashboard/messages.ts';
import type { STATE_TEXTS } from '../../src/dashboard/ui/states.ts';
import type { ProblemName } from '../../src/http/problems.ts';
import { changeLimits, changePlan } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import { rotateKey } from '../../src/metering/keys/rotate.ts';
import { startApi } from '../support/api.ts';
import { call } from '../support/client.ts';
import { createCommandLine } from '../support/command.ts';
import { nif } from '../support/companies.ts';
import { hold } from '../support/locks.ts';
import { until } from '../support/until.ts';
import { OPEN, startMailServer, storeCalls } from './service.ts';
import { createMemberWithKey, createVisitor, formTokenOf, type PageAnswer } from './visitor.ts';

type State = keyof typeof STATE_TEXTS;

type Place = 'overview' | 'keys' | 'try' | 'screen' | 'signIn' | 'mail' | 'problem';

/**
 * How a place says it. `notice`: above the page. `card`: a part of the page. `answer`: the answer to a call that is made there. `page`: in
 * place of the page. `problem` names it, and `mail` is the subject. `none` is the reason why
 * the place says nothing.
 */
type Shown =
  | 'notice'
  | 'card'
  | 'answer'
  | 'page'
  | { mail: string }
  | { problem: ProblemName }
  | { none: string };

const unsaid = (none: string) => ({ none });
const NO_ACCOUNT = unsaid('a visitor has no account');
const NO_MAIL = unsaid('it is over before a mail is read');
const ON_OVERVIEW = unsaid('the overview says it');
const ON_KEYS = unsaid('calls go on, so only the page of the keys says it');
const OF_CALLS = unsaid('no call is made there');

/** How the pages say it. Unless a state differs, calls are answered as before, and visitors see nothing of it. */
const onPages = (overview: Shown, keys: Shown, tryIt: Shown, screen: Shown, signIn: Shown = NO_ACCOUNT) => ({
  ...{ overview, keys, try: tryIt, screen, signIn },
  problem: unsaid('calls are answered as before') as Shown,
});
const NOTICE = onPages('notice', 'notice', 'notice', 'notice');
const CARD = onPages('card', ON_OVERVIEW, ON_OVERVIEW, ON_OVERVIEW);
const KEYS = onPages(ON_KEYS, 'card', ON_KEYS, ON_KEYS);
const CALL = { ...onPages(OF_CALLS, OF_CALLS, 'answer', 'answer'), mail: NO_MAIL };
const AWAY = { ...onPages('page', 'page', 'page', 'page', 'page'), mail: NO_MAIL };
const { mailPlanSubject, mailKeySubject, mailUsageSubject, mailSuspendedSubject } = MESSAGES.en;
const UNAVAILABLE = { problem: 'service-unavailable' } as const;
const UNAUTHORIZED = { problem: 'unauthorized' } as const;
const NO_CREDITS = {
  mail: { mail: mailUsageSubject('100') },
  problem: { problem: 'monthly-quota-exceeded' },
} as const;

const STATES: Record<State, Record<Place, Shown>> = {
  low: { ...NOTICE, mail: { mail: mailUsageSubject('80') } },
  beyond: { ...NOTICE, mail: { mail: mailUsageSubject('100') } },
  purchasedOnly: { ...CARD, mail: { mail: mailUsageSubject('100') } },
  none: { ...NOTICE, ...NO_CREDITS },
  noneIncluded: { ...NOTICE, ...NO_CREDITS, mail: unsaid('no share of included credits was used') },
  switchedOff: { ...NOTICE, ...NO_CREDITS },
  lapsesSoon: { ...NOTICE, mail: { mail: mailPlanSubject.week } },
  lapsed: { ...NOTICE, mail: { mail: mailPlanSubject.ended } },
  tooManyKeys: { ...KEYS, mail: { mail: mailPlanSubject.ended } },
  suspended: { ...NOTICE, signIn: 'notice', mail: { mail: mailSuspendedSubject }, problem: UNAUTHORIZED },
  keyEndsSoon: { ...NOTICE, mail: { mail: mailKeySubject.week } },
  keyEnded: { ...NOTICE, mail: { mail: mailKeySubject.expired }, problem: UNAUTHORIZED },
  keyRotated: { ...KEYS, mail: unsaid('the page after the rotation says it') },
  postgresAway: { ...AWAY, problem: UNAVAILABLE },
  searchAway: {
    ...CALL,
    screen: unsaid('lists are read in Postgres'),
    problem: { problem: 'search-failed' },
  },
  overloaded: { ...AWAY, problem: UNAVAILABLE },
  limited: { ...CALL, problem: { problem: 'rate-limit-exceeded' } },
};

const mail = await startMailServer();
const service = await startApi({ proxied: ['postgres'], env: { ...OPEN, SMTP_URL: mail.url } });
const { sql, proxies, database } = service;
const proxy = proxies.postgres;
afterAll(() => service.stop().then(mail.stop));

type Member = Awaited<ReturnType<typeof newMember>>;

/** A member, and the account's only key. */
async function newMember() {
  const member = await createMemberWithKey(service);
  // A key that was created for less than a week has no mail a week before its end.
  await sql`UPDATE api_keys SET created_at = now() - interval '30 days' WHERE account_id = ${member.accountId}`;
  const stranger = createVisitor(service.baseUrl);
  const tokens: Partial<Record<Place, string>> = {
    signIn: await formTokenOf(stranger),
    try: await formTokenOf(member.visitor, '/dashboard/try'),
    screen: await formTokenOf(member.visitor, '/dashboard/screen'),
  };
  return { ...member, stranger, tokens };
}
const DAY_MS = 86_400_000;
const cli = createCommandLine(database.url, { SMTP_URL: mail.url });
const publicUrl = service.baseUrl;
const mailer = createMailer(mail.url, null, publicUrl, { error() {} });
/** Another query each time, because answers are cached. */
const search = (secret: string) => call(service.url, `/companies?q=${secret.slice(-6)}`, { key: secret });

const setUsed = (accountId: string, used: number) =>
  sql`UPDATE balances SET used = ${used} WHERE account_id = ${accountId}`;

/** Makes a state. A function that it returns ends it. */
const ARRANGE: Record<State, (member: Member) => Promise<unknown>> = {
  low: ({ accountId }) => setUsed(accountId, 400),
  async beyond({ accountId }) {
    await grantCredits(sql, accountId, { credits: 7 }, 'test');
    await storeCalls(sql, accountId, [{ daysAgo: 1, kind: 'search', calls: 500 }]);
    await setUsed(accountId, 500);
  },
  async purchasedOnly({ accountId }) {
    await grantCredits(sql, accountId, { credits: 100_000 }, 'test');
    await sql`UPDATE balances SET used = 502, used_purchased = 2 WHERE account_id = ${accountId}`;
  },
  none: ({ accountId }) => setUsed(accountId, 500),
  noneIncluded: ({ accountId }) => changeLimits(sql, accountId, { includedCredits: 0 }, 'test'),
  async switchedOff({ accountId }) {
    await grantCredits(sql, accountId, { credits: 7 }, 'test');
    await sql`UPDATE balances SET used = 500, spend_purchased = false WHERE account_id = ${accountId}`;
  },
  async lapsesSoon({ accountId }) {
    await changePlan(sql, accountId, 'plus', { until: new Date(Date.now() + 5 * DAY_MS) }, 'test');
    await sql`UPDATE balances SET plan_since = now() - interval '30 days' WHERE account_id = ${accountId}`;
  },
  lapsed: ({ accountId }) => lapse(accountId),
  async tooManyKeys({ accountId }) {
    await changePlan(sql, accountId, 'plus', {}, 'test');
    for (const name of ['a', 'b']) await createKey(sql, accountId, name, 'test');
    await lapse(accountId);
  },
  suspended: ({ accountId }) =>
    cli.json('account', 'suspend', accountId, '--reason', 'Invoice 17 is overdue'),
  async keyEndsSoon({ id }) {
    await sql`UPDATE api_keys SET expires_at = now() + interval '2 days' WHERE id = ${id}`;
    await sql`INSERT INTO api_key_uses SELECT secret_sha256, now() FROM api_keys WHERE id = ${id} ON CONFLICT DO NOTHING`;
  },
  async keyEnded({ accountId, id }) {
    await sql`UPDATE api_keys SET expires_at = now() - interval '1 hour' WHERE id = ${id}`;
    await storeCalls(sql, accountId, [{ keyId: id, kind: '401', calls: 412 }]);
  },
  keyRotated: ({ id }) => rotateKey(sql, id, 86_400, 'test'),
  // A key that was called within seconds is known without Postgres, unless the notice of its making comes after that call.
  postgresAway: ({ secret }) =>
    until('the key known without Postgres', async () => {
      proxy.up();
      await search(secret);
      proxy.down();
      return (await search(secret)).kind !== 'authentication-failed';
    }),
  async searchAway() {
    const [{ name }] = await sql<[{ name: string }]>`SELECT table_name AS name FROM directory_generations`;
    await sql`ALTER TABLE ${sql(name)} RENAME TO directory_away`;
    return () => sql`ALTER TABLE directory_away RENAME TO ${sql(name)}`;
  },
  // Pages and sign-ins wait for what they read first, and calls for their account, as behind many others.
  async overloaded({ accountId }) {
    const { release } = await hold(sql, async (sql) => {
      await sql`LOCK TABLE dashboard_members, dashboard_attempts IN ACCESS EXCLUSIVE MODE`;
      await sql`SELECT 1 FROM balances WHERE account_id = ${accountId} FOR UPDATE`;
    });
    return release;
  },
  async limited({ accountId, visitor }) {
    await changeLimits(sql, accountId, { requestsPerMinute: 1 }, 'test');
    await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  },
};

/** As the clock does it: the period of Plus ends, and the next one is of Free. */
async function lapse(accountId: string): Promise<void> {
  await changePlan(sql, accountId, 'plus', {}, 'test');
  await sql`
    UPDATE balances SET plus_anchor = now() - interval '40 days', plan_since = now() - interval '40 days',
      plus_until = now() - interval '2 hours', period_start = now() - interval '40 days', period_end = now() - interval '2 hours' WHERE account_id = ${accountId}`;
}

/** The page at which a place can say it. */
async function visit(
  { visitor, stranger, id, tokens }: Member,
  place: Exclude<Place, 'mail' | 'problem'>,
  state: State,
): Promise<PageAnswer> {
  const shown = STATES[state][place];
  const form_token = tokens[place]!;
  const signIn = { form_token, email: 'a@example.com', password: 'a long one' };
  if (place === 'signIn' && shown === 'page') return stranger.post('/dashboard/sign-in', signIn);
  if (place === 'try' && shown !== 'notice')
    return visitor.post('/dashboard/try', { form_token, q: 'abaco', kind: 'search' });
  if (place === 'screen' && shown !== 'notice')
    return visitor.post('/dashboard/screen', { form_token, list: nif(4), price: '1' });
  const paths = { overview: '', signIn: '/sign-in', keys: state === 'keyRotated' ? `/keys/${id}` : '/keys' };
  return visitor.get(`/dashboard${{ ...paths, try: '/try', screen: '/screen' }[place]}`);
}

const LINES = Array<string>(4).fill('\n');
/** A pattern of the three sentences, with any values. */
function patternOf(state: State): RegExp {
  const { happened, cost, next } = MESSAGES.en.states[state];
  const texts = [happened, cost, next].map((text) => {
    const said = typeof text === 'string' ? text : (text as (...values: string[]) => string)(...LINES);
    return said.split('\n').map(RegExp.escape).join('.+');
  });
  return new RegExp(texts.join('.*'), 's');
}

async function checkPages(state: State, member: Member): Promise<void> {
  // Suspending ends the sessions, so that the sign-in page comes first.
  for (const place of ['signIn', 'overview', 'keys', 'try', 'screen'] as const) {
    const shown = STATES[state][place];
    if (typeof shown !== 'string') continue;
    if (state === 'suspended' && place === 'overview')
      await member.visitor.submit('/dashboard/sign-in', { email: member.email, password: member.password });
    const page = await visit(member, place, state);
    expect([place, page.textOf('main')]).toEqual([place, expect.stringMatching(patternOf(state))]);
  }
}

/** The one mail that the table names, or none. */
async function checkMail(shown: Shown, email: string): Promise<void> {
  await sendAllDueMails({ sql, mailer, publicUrl, buyUrl: null, contact: null });
  if (typeof shown !== 'string' && 'mail' in shown)
    expect((await mail.mailTo(email)).text).toContain(`Subject: ${MESSAGES.en.brand}: ${shown.mail}`);
  expect(mail.received(email)).toBe(0);
}

for (const state of Object.keys(STATES) as State[])
  test(`${state}: each of its pages, mails and problems says it, and no further mail and problem does`, async () => {
    const member = await newMember();
    const { visitor, secret, email } = member;
    const { problem, mail: mailed } = STATES[state];
    const end = await ARRANGE[state](member);
    try {
      // Before the pages, because a key is known for seconds. A call that is answered comes last, because it is charged a credit.
      if (typeof problem !== 'string' && 'problem' in problem)
        expect((await search(secret)).kind).toBe(problem.problem);
      await checkPages(state, member);
    } finally {
      if (typeof end === 'function') await end();
      proxy.up();
    }
    await checkMail(mailed, email);
    if (typeof problem !== 'string' && 'none' in problem) expect((await search(secret)).status).toBe(200);
    await until('the dashboard', async () => (await visitor.get('/dashboard')).status !== 503);
  });
