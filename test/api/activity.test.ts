/** GET /activity over HTTP: every sentence of docs/api.md about it. */
import { afterAll, expect, spyOn, test } from 'bun:test';
import { REASONS, type Reason } from '../../src/http/problems.ts';
import { changeLimits } from '../../src/metering/accounts/changes.ts';
import { purgeActivity } from '../../src/metering/activity/activity-store.ts';
import { createKey, revokeKey } from '../../src/metering/keys/key-store.ts';
import { rollUpAll } from '../metering/credits/ledger.ts';
import { storeActivity } from '../support/activity.ts';
import { type Caller, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import type { CallOptions } from '../support/client.ts';
import { csv, nif } from '../support/companies.ts';
import { hold } from '../support/locks.ts';
import { callTool } from '../support/mcp.ts';
import { createTestKey } from '../support/service.ts';
import { stopClock } from '../support/stopped-clock.ts';
import { eventually, until } from '../support/until.ts';

const api = await startApi({ directory: csv(0, 30) });
afterAll(() => api.stop());
const plenty = { limits: { requestsPerMinute: 100_000 }, included: 1000 };

type Row = Record<string, unknown> & { id: string; call: string; request: string; kind: string };

const page = async (key: string, after?: string) => {
  await rollUpAll(api.sql);
  return ask(api, after === undefined ? '/activity' : `/activity?after=${after}`, { key });
};

/** The rows of an account once there are so many; answers are written every few seconds. */
async function rowsOf(key: string, count: number): Promise<Row[]> {
  let rows: Row[] = [];
  await eventually(async () => {
    rows = (await page(key)).body.data;
    return rows.length;
  }, count);
  return rows;
}

const brief = (rows: Row[]) =>
  rows
    .map(({ kind, key, endpoint, status, problem, credits }) =>
      [kind, key === null ? 'dashboard' : 'key', endpoint, status, problem, credits].join(' '),
    )
    .toSorted();

const keyed = (idempotencyKey: string): CallOptions => ({
  json: { nifs: [nif(1)] },
  headers: { 'Idempotency-Key': idempotencyKey },
});
/** One more than a list refreshes. */
const REFRESHED = Array.from({ length: 11 }, (_, n) => nif(n + 100));

test('it has what was charged, what came back, and what was refused or repeated, by endpoint or tool', async () => {
  const { key, keyId, accountId } = await api.caller(plenty);
  const asked = [
    await ask(api, '/companies?q=empresa', { key, headers: { 'X-Request-Id': 'order-17' } }),
    await ask(api, '/companies/123', { key, headers: { 'X-Request-Id': 'order-17' } }),
    await ask(api, '/debts', { json: { nifs: [nif(1), nif(2), '1'] }, key }),
    await ask(api, '/debts', { ...keyed('once'), key }),
    await ask(api, '/debts', { ...keyed('once'), key }),
    await ask(api, '/usage', { key }),
  ];
  expect(asked.map(({ status }) => status)).toEqual([200, 400, 200, 200, 200, 200]);
  await callTool(api, 'search_companies', { q: 'empresa' }, { key });
  const rows = await rowsOf(key, 8);
  expect(brief(rows)).toEqual(
    [
      'charge key GET /companies   1',
      'charge key GET /companies/{nif}   1',
      'answer key GET /companies/{nif} 400 validation 0',
      'charge key POST /debts   3',
      'answer key POST /debts 200 validation 0',
      'charge key POST /debts   1',
      'answer key POST /debts 200  0',
      'charge key search_companies   1',
    ].toSorted(),
  );
  expect(new Set(rows.map((row) => row.key))).toEqual(new Set([keyId]));
  // The caller's id may repeat, and ours does not.
  const ordered = rows.filter(({ request }) => request === 'order-17');
  expect(ordered.map(({ kind }) => kind).toSorted()).toEqual(['answer', 'charge', 'charge']);
  expect(new Set(ordered.map(({ call }) => call)).size).toBe(2);
  // Each request has one line of the log, which names its call; the call of a tool, too.
  const logged = api.logLines.filter(({ account }) => account === accountId).map(({ call }) => call);
  expect(new Set(logged).size).toBe(logged.length);
  expect(rows.filter(({ call }) => !logged.includes(call))).toEqual([]);
  // Without one, it is the answer's, which is ours.
  const id = asked[2]!.headers.get('X-Request-Id')!;
  expect(rows.filter(({ call }) => call === id).map(({ request }) => request)).toEqual([id, id]);
  const text = JSON.stringify(rows);
  for (const hidden of [nif(1), nif(2), 'empresa', '127.0.0.1']) expect(text).not.toContain(hidden);
  // What it costs.
  expect((await api.ledger({ accountId })).used).toBe(7);
  const [calls] = await api.sql`SELECT sum(calls) AS calls FROM calls_by_day WHERE account_id = ${accountId}`;
  expect(rows.reduce((sum, { credits }) => sum + Number(credits), 0)).toBe(Number(calls!.calls));
});

test('the free item of a list, and a key that has ended, have their refusals', async () => {
  const { key, keyId } = await api.caller(plenty);
  const other = await api.caller(plenty);
  const { status } = await ask(api, '/lookups', { json: { nifs: REFRESHED }, key });
  expect(status).toBe(200);
  const rows = await rowsOf(key, 3);
  expect(brief(rows).filter((row) => row.includes('service-unavailable'))).toEqual([
    'answer key POST /lookups 200 service-unavailable 0',
  ]);
  await revokeKey(api.sql, keyId, 'test');
  await eventually(async () => (await ask(api, '/usage', { key })).status, 401);
  await eventually(async () => {
    const [row] = await api.sql`
      SELECT count(*) > 0 AS found FROM activity WHERE key_id = ${keyId} AND status = 401 AND problem = 'unauthorized'
        AND endpoint = 'GET /usage'`;
    return row!.found;
  }, true);
  expect((await page(other.key)).body.data).toEqual([]);
});

const calls =
  (...asked: [path: string, options?: CallOptions][]) =>
  async ({ key }: Caller) => {
    for (const [path, options] of asked) await ask(api, path, { ...options, key });
  };

/** Calls that are answered with each name, of an account of its own. A new name has none before it is written here. */
const CAUSES: Record<Reason, (caller: Caller) => Promise<unknown>> = {
  nif: calls(['/companies/123'], ['/debts', { json: { nifs: ['secret'] } }]),
  query: calls(['/companies'], ['/matches?q=%20']),
  name: calls(['/resolutions', { json: { names: [' '] } }]),
  body: calls([
    '/debts',
    { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"nifs":[' },
  ]),
  member: calls(['/debts', { json: { secret: 1 } }]),
  'idempotency-key': calls(['/debts', keyed('se cret')]),
  cursor: calls(['/activity?after=secret']),
  later: calls(['/lookups', { json: { nifs: REFRESHED } }]),
  async 'account-rate'(caller) {
    await changeLimits(api.sql, caller.accountId, { requestsPerMinute: 1 }, 'test');
    await until('the refusal', async () => (await ask(api, '/usage', caller)).status === 429);
    await changeLimits(api.sql, caller.accountId, plenty.limits, 'test');
  },
  async 'key-rate'({ accountId }) {
    const share = { requests_per_minute: 1 };
    const { secret: key } = await createKey(api.sql, accountId, 'shared', 'test', null, undefined, share);
    await until('the refusal', async () => (await ask(api, '/usage', { key })).status === 429);
  },
  async refreshes(caller) {
    await api.sql`
      INSERT INTO account_refreshes VALUES (${caller.accountId}, (now() AT TIME ZONE 'UTC')::date, 1000000000)`;
    await ask(api, `/companies/${nif(200)}`, caller);
  },
  async 'under-way'({ key }) {
    await ask(api, '/debts', { ...keyed('once'), key });
    // As if another process sent it again. A sending waits for 20 s by this clock.
    await api.sql`UPDATE keyed_requests SET sending = gen_random_uuid(), live_until = now() + interval '1 hour'`;
    const clock = stopClock();
    const { sleep } = Bun;
    const waiting = spyOn(Bun, 'sleep').mockImplementation((ms) => {
      clock.pass(20_000);
      return sleep(ms);
    });
    await ask(api, '/debts', { ...keyed('once'), key }).finally(() => {
      waiting.mockRestore();
      clock.restore();
    });
  },
  async overloaded({ key }) {
    const lock = await hold(api.sql, (sql) => sql`LOCK TABLE keyed_requests IN ACCESS EXCLUSIVE MODE`);
    // Four of them wait for the lock, and the others for these, too long.
    const sent = Array.from({ length: 20 }, (_, n) => ask(api, '/debts', { ...keyed(`once${n}`), key }));
    await Promise.all(sent).finally(lock.release);
  },
};

test('each name of what can be wrong is written by an answer and read back, with nothing that was sent', async () => {
  const callers = new Map<Reason, Caller>();
  for (const reason of Object.keys(REASONS) as Reason[]) {
    const caller = await api.caller(plenty);
    callers.set(reason, caller);
    await CAUSES[reason](caller);
  }
  for (const [reason, { key }] of callers) {
    const rows = async () => ((await page(key)).body.data ?? []) as Row[];
    await until(reason, async () => (await rows()).some((row) => row.reason === reason));
    expect(JSON.stringify(await rows())).not.toContain('cret');
  }
});

test('a reader goes on from `next`; a cursor that is none is a free validation, and an old one a free 410', async () => {
  const { key, accountId } = await api.caller(plenty);
  const empty = await page(key);
  expect(empty.body).toEqual({ data: [], next: expect.stringMatching(/^act_\d+$/), more: false });
  await ask(api, '/companies?q=a', { key });
  const first = await page(key, empty.body.next);
  expect(brief(first.body.data)).toEqual(['charge key GET /companies   1']);
  expect((await page(key, first.body.next)).body.data).toEqual([]);
  for (const wrong of ['1', 'act_', 'act_9999999999999999', 'chg_1', '']) {
    const { status, kind } = await page(key, wrong);
    expect([wrong, status, kind]).toEqual([wrong, 400, 'validation']);
  }
  await purgeActivity(api.sql, 7);
  const old = await page(key, 'act_1');
  expect([old.status, old.kind]).toEqual([410, 'activity-expired']);
  // The refusals above may be written by now, behind it.
  expect((await page(key, old.body.oldest)).body.data[0]).toEqual(first.body.data[0]);
  expect((await api.ledger({ accountId })).used).toBe(1);
});

test('a page has 1,000 rows, and `more` says that others follow', async () => {
  const { key, accountId } = await api.caller(plenty);
  // A part of one write can begin on one page and end on the next.
  for (const rows of [1, 700, 300]) await storeActivity(api.sql, { accountId, rows });
  const first = await page(key);
  expect([first.body.data.length, first.body.more, first.body.next]).toEqual([
    1000,
    true,
    first.body.data.at(-1).id,
  ]);
  const second = await page(key, first.body.next);
  expect([second.body.data.length, second.body.more]).toEqual([1, false]);
});

test('a test key gets the rows of its world, and has none', async () => {
  const { accountId } = await api.caller(plenty);
  const key = await createTestKey(api.sql, accountId);
  await ask(api, '/companies?q=padaria', { key });
  const { body } = await page(key);
  expect(body.data.map(({ kind }: Row) => kind)).toEqual([
    ...['charge', 'charge', 'charge', 'return', 'answer', 'answer', 'answer', 'answer'],
  ]);
  expect(body.data.at(-1)).toMatchObject({ call: null, request: null, unlisted: 17 });
  expect(await api.sql`SELECT FROM activity WHERE account_id = ${accountId}`).toHaveLength(0);
});

test('with ACTIVITY_DAYS=0 there is no such endpoint, and no row is written', async () => {
  await using off = await startApi({ env: { ACTIVITY_DAYS: '0' } });
  const { key } = await off.caller(plenty);
  await ask(off, '/companies?q=a', { key });
  await ask(off, '/companies', { key });
  const { status, kind } = await ask(off, '/activity', { key });
  expect([status, kind]).toEqual([404, 'not-found']);
  expect((await fetch(`${off.baseUrl}/problems/activity-expired`)).status).toBe(404);
  const reference = await (await fetch(`${off.baseUrl}/openapi/json`)).text();
  expect(reference).not.toMatch(/getActivity|"\/activity"/);
  await rollUpAll(off.sql);
  expect(await off.sql`SELECT FROM activity`).toHaveLength(0);
});
