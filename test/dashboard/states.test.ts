/** What happened: each state has its texts, and each place of the table says them. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { MESSAGES } from '../../src/dashboard/ui/messages.ts';
import { PLACES, type Place, type Shown, STATES, type State } from '../../src/dashboard/ui/states.ts';
import { PROBLEMS } from '../../src/http/problems.ts';
import { changeLimits, changePlan, setSuspended } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import { rotateKey } from '../../src/metering/keys/rotate.ts';
import { createKey } from '../../src/metering/keys/store.ts';
import { nif } from '../support/companies.ts';
import { createTestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { storeCalls } from './service.ts';
import { createMember, makeKey, type PageAnswer } from './visitor.ts';

setDefaultTimeout(60_000);

const database = await createTestDatabase('states');
const { sql } = database;
const proxy = await startProxy(database.url);
const env = { TRUST_PROXY: '127.0.0.1', AUTH_SECRET: 'x'.repeat(40), SIGN_UP: 'open' };
const service = await startTestService({ env: { ...env, DATABASE_URL: proxy.url(database.url) } });
afterAll(async () => {
  proxy.up();
  await service.stop();
  await proxy.close();
  await database.drop();
});

type Member = Awaited<ReturnType<typeof newMember>>;

/** A member, and the account's only key. */
async function newMember() {
  const member = await createMember({ ...service, sql });
  await makeKey(member.visitor);
  const [key] = await sql<{ id: string }[]>`SELECT id FROM api_keys WHERE account_id = ${member.accountId}`;
  return { ...member, id: key!.id };
}
const DAY_MS = 86_400_000;

const setUsed = (accountId: string, used: number) =>
  sql`UPDATE balances SET used = ${used} WHERE account_id = ${accountId}`;

/** Makes a state. */
const ARRANGE: Record<State, (member: Member) => Promise<unknown>> = {
  firstCalls: async () => {},
  low: ({ accountId }) => setUsed(accountId, 400),
  async beyond({ accountId }) {
    await grantCredits(sql, accountId, { credits: 7 }, 'test');
    await storeCalls(sql, accountId, [{ daysAgo: 1, keyId: '', kind: 'search', calls: 500 }]);
    await setUsed(accountId, 500);
  },
  async purchasedOnly({ accountId }) {
    await grantCredits(sql, accountId, { credits: 100_000 }, 'test');
    await setUsed(accountId, 502);
  },
  none: ({ accountId }) => changeLimits(sql, accountId, { includedCredits: 0 }, 'test'),
  async switchedOff({ accountId }) {
    await grantCredits(sql, accountId, { credits: 7 }, 'test');
    await sql`UPDATE balances SET used = 500, spend_purchased = false WHERE account_id = ${accountId}`;
  },
  lapsesSoon: ({ accountId }) =>
    changePlan(sql, accountId, 'plus', { until: new Date(Date.now() + 5 * DAY_MS) }, 'test'),
  lapsed: ({ accountId }) => lapse(accountId),
  async tooManyKeys({ accountId }) {
    await changePlan(sql, accountId, 'plus', {}, 'test');
    for (const name of ['a', 'b']) await createKey(sql, accountId, name, 'test');
    await changePlan(sql, accountId, 'free', {}, 'test');
  },
  suspended: ({ accountId }) => setSuspended(sql, accountId, true, 'test', 'Invoice 17 is overdue'),
  keyEndsSoon: ({ id }) => sql`UPDATE api_keys SET expires_at = now() + interval '2 days' WHERE id = ${id}`,
  async keyEnded({ accountId, id }) {
    await sql`UPDATE api_keys SET expires_at = now() - interval '1 hour' WHERE id = ${id}`;
    await refuse(accountId, id);
  },
  async keyRevoked({ accountId, id }) {
    await sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${id}`;
    await refuse(accountId, id);
  },
  keyRotated: ({ id }) => rotateKey(sql, id, 86_400, 'test'),
  postgresAway: async () => proxy.down(),
  async searchAway() {
    await sql`UPDATE directory_generations SET table_name = 'directory_away'`;
  },
  // In crowded.test.ts, because it takes a lock that the request waits for.
  overloaded: async () => {},
  async limited({ accountId, visitor }) {
    await changeLimits(sql, accountId, { requestsPerMinute: 1 }, 'test');
    await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  },
};

/** As the clock does it: the period of Plus ends, and the next one is of Free. */
async function lapse(accountId: string): Promise<void> {
  await changePlan(sql, accountId, 'plus', {}, 'test');
  await sql`
    UPDATE balances SET plus_anchor = now() - interval '40 days', plus_until = now() - interval '2 days',
      period_start = now() - interval '40 days', period_end = now() - interval '2 days' WHERE account_id = ${accountId}`;
}

const refuse = (accountId: string, keyId: string) => sql`
  INSERT INTO daily_error_answers (account_id, day, key_id, kind, calls)
  VALUES (${accountId}, (now() AT TIME ZONE 'UTC')::date, ${keyId}, '401', 412)`;

/** The pages at which a place can say it. */
async function visit(
  { visitor, id }: Member,
  place: Exclude<Place, 'mail' | 'problem'>,
  { shown, tokens }: { shown: Shown; tokens: Tokens },
): Promise<PageAnswer> {
  if (place === 'overview') return visitor.get('/dashboard');
  if (place === 'signIn') return visitor.get('/dashboard/sign-in');
  if (place === 'keys') return visitor.get(shown === 'card' ? `/dashboard/keys/${id}` : '/dashboard/keys');
  if (shown === 'notice') return visitor.get(`/dashboard/${place}`);
  const form_token = tokens[place]!;
  return place === 'try'
    ? visitor.post('/dashboard/try', { form_token, q: 'abaco', kind: 'search' })
    : visitor.post('/dashboard/screen', { form_token, list: nif(4), price: '1' });
}

type Tokens = Partial<Record<Place, string>>;

async function tokensOf({ visitor }: Member): Promise<Tokens> {
  const tokenOf = async (path: string) =>
    (await visitor.get(path)).document.querySelector('main input[name=form_token]')!.getAttribute('value')!;
  return { try: await tokenOf('/dashboard/try'), screen: await tokenOf('/dashboard/screen') };
}

/** A pattern of the three sentences, with any values. */
function patternOf(state: State): RegExp {
  const { happened, cost, next } = MESSAGES.en.states[state];
  const texts = [happened, cost, next].map((text) => {
    const said =
      typeof text === 'string' ? text : (text as (...values: string[]) => string)(...Array(4).fill('\n'));
    return said
      .split('\n')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.+');
  });
  return new RegExp(texts.join('.*'), 's');
}

test('every state has its three texts in both languages, and every place of it says how, or why it says nothing', () => {
  for (const [state, places] of Object.entries(STATES)) {
    for (const { states } of Object.values(MESSAGES))
      for (const text of Object.values(states[state as State])) {
        const said =
          typeof text === 'string' ? text : (text as (...values: string[]) => string)('1', '2', '3', '4');
        expect([state, said]).toEqual([state, expect.stringMatching(/^[^{}]{10,}[.:]$/)]);
        expect(said).not.toContain('undefined');
      }
    expect(Object.keys(places).toSorted()).toEqual([...PLACES].toSorted());
    for (const [place, shown] of Object.entries(places)) {
      const named = typeof shown === 'string' ? shown : Object.values(shown)[0]!;
      expect([state, place, named.length > 3]).toEqual([state, place, true]);
      if (typeof shown !== 'string' && 'problem' in shown) expect(PROBLEMS).toHaveProperty([shown.problem]);
    }
  }
});

for (const state of (Object.keys(STATES) as State[]).filter((state) => state !== 'overloaded'))
  test(`${state}: each of its places says what happened, what it costs and what to do next`, async () => {
    const member = await newMember();
    const tokens = await tokensOf(member);
    const tables = await sql<
      { id: number; name: string }[]
    >`SELECT id, table_name AS name FROM directory_generations`;
    const { visitor } = member;
    // Suspending ends the sessions, so that the sign-in page comes first.
    await ARRANGE[state](member);
    try {
      for (const place of ['signIn', 'overview', 'keys', 'try', 'screen'] as const) {
        const shown = STATES[state][place];
        if (typeof shown !== 'string') continue;
        if (state === 'suspended' && place === 'overview') {
          const { email, password } = member;
          await visitor.submit('/dashboard/sign-in', { email, password });
        }
        if (state === 'keyRotated' && place === 'keys') {
          expect((await visitor.get('/dashboard/keys')).textOf('.list')).toContain('Old secret until');
        }
        const page =
          state === 'tooManyKeys' && place === 'keys'
            ? await visitor.get('/dashboard/keys')
            : await visit(member, place, { shown, tokens });
        expect([place, page.textOf('main')]).toEqual([place, expect.stringMatching(patternOf(state))]);
      }
    } finally {
      proxy.up();
      for (const { id, name } of tables)
        await sql`UPDATE directory_generations SET table_name = ${name} WHERE id = ${id}`;
    }
    if (state === 'postgresAway')
      await until('the dashboard', async () => (await visitor.get('/dashboard')).status === 200);
  });
