/** The page Activity: single calls, their filters, and the ways that lead there. */
import { afterAll, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { writeActivity } from '../../../src/metering/credits/activity.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { storeActivity } from '../../support/activity.ts';
import { call } from '../../support/client.ts';
import { storeCallCounts, storeCostlyErrorCounts, storeErrorCounts } from '../../support/counts.ts';
import { until } from '../../support/until.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createMemberWithKey, type PageAnswer, type Visitor } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const dayNow = () => new Date().toISOString().slice(0, 10);
const TODAY = dayNow();
const rowsOf = ({ cellsOf }: PageAnswer) => cellsOf('.activity tbody tr');
const rows = async (visitor: Visitor, query = '') => rowsOf(await visitor.get(`/dashboard/activity${query}`));

/** Rows of an account as the roll-up writes them, the oldest first. */
async function store(
  accountId: string,
  count: number,
  row: Partial<Parameters<typeof storeActivity>[1]> = {},
) {
  await storeActivity(service.sql, { accountId, rows: count, key: '', ...row });
}

test('each call is one row, with its problem and its credits, within seconds, and is found by its request id', async () => {
  const { visitor, secret } = await createMemberWithKey(service, 'production');
  await call(service.url, '/companies?q=abaco', { key: secret, headers: { 'X-Request-Id': 'order-17' } });
  await call(service.url, '/companies', { key: secret });
  await visitor.submit('/dashboard/try', { q: 'abaco', kind: 'search' });
  let shown: string[][] = [];
  await until('the rows', async () => {
    shown = (await rows(visitor)).map(([, ...cells]) => cells);
    return JSON.stringify(shown).includes('validation') && shown.length === 3;
  });
  const [search, key] = ['GET /companies', 'production'];
  const problem = '400 validation The query q is missing or blank.';
  expect(shown.map((cells) => cells.slice(0, 4)).toSorted()).toEqual([
    [problem, search, key, '1'],
    ['Charged', search, 'Dashboard', '1'],
    ['Charged', search, key, '1'],
  ]);
  expect(shown.map((cells) => cells[4])).toContain('order-17');
  expect((await rows(visitor, '?request=order-17')).map((cells) => cells[5])).toEqual(['order-17']);
  expect((await rows(visitor, '?problems=yes')).map((cells) => cells.slice(1, 5))).toEqual([
    [problem, search, key, '1'],
  ]);
  // The overview has the latest problems of a day.
  expect((await visitor.get('/dashboard')).textOf('#problems tbody tr')).toContain(problem);
  expect(JSON.stringify(shown)).not.toContain('abaco');
});

test('filters by problems, key and day leave the rows that meet all of them', async () => {
  const { visitor, accountId } = await createMember(service);
  const first = await createKey(service.sql, accountId, 'first', 'test');
  const second = await createKey(service.sql, accountId, 'second', 'test');
  await store(accountId, 3, { key: first.id });
  await store(accountId, 2, { key: second.id, endpoint: 'POST /debts', credits: 7 });
  await store(accountId, 4, { key: second.id, kind: 'answer', credits: 0, problem: 'rate-limit-exceeded' });
  await store(accountId, 1, { kind: 'return', credits: -1 });
  for (const [query, count] of [
    ['', 10],
    [`?key=${first.id}`, 3],
    [`?key=${second.id}`, 6],
    ['?key=dashboard', 1],
    ['?problems=yes', 4],
    [`?key=${second.id}&problems=yes`, 4],
    ['?request=none', 0],
    [`?day=${dayNow()}`, 10],
    ['?day=2026-01-01', 0],
    ["?key='&problems=y&day=2026-02-30&before=-1", 10],
  ] as const)
    expect([query, (await rows(visitor, query)).length]).toEqual([query, count]);
  const none = await visitor.get('/dashboard/activity?request=none');
  expect(none.textOf('.empty')).toBe('No request matches.');
});

test('rows of every key of the account have its name, and the filter has connections and the chosen key', async () => {
  const { visitor, accountId } = await createMember(service);
  const other = await createKey(service.sql, (await createMember(service)).accountId, 'of another', 'test');
  const id = (name: string) => `key_${accountId.replaceAll(/[^a-z0-9]/g, '')}${name}`;
  /** A key, or several with a number behind the name; one with "gone" in its name is revoked. */
  const insert = (name: string, { minutesAgo = 0, count = 1, isConnection = false } = {}) => service.sql`
    INSERT INTO api_keys (id, account_id, name, start, secret_sha256, created_at, revoked_at, is_connection)
    SELECT ${id('')} || name, ${accountId}, name, 'svc_0000', sha256(convert_to(${accountId} || name, 'UTF8')),
      at, CASE WHEN name ~ 'gone' THEN at END, ${isConnection}
    FROM generate_series(0, ${count - 1}::integer) AS n, concat(${name}::text, CASE WHEN ${count > 1} THEN n END) AS name,
      CAST(now() - ${minutesAgo} * interval '1 minute' AS timestamptz) AS at`;
  await insert('new', { count: 100 });
  await insert('gone', { count: 50 });
  for (const name of ['old', 'oldgone']) await insert(name, { minutesAgo: 5 });
  for (const name of ['agent', 'agentgone']) await insert(name, { isConnection: true });
  const named = ['new7', 'gone7', 'old', 'oldgone', 'agent', 'agentgone'];
  for (const name of named) await store(accountId, 1, { key: id(name) });
  await store(accountId, 1, { key: other.id });
  const page = await visitor.get('/dashboard/activity');
  expect(rowsOf(page).map((cells) => cells[3])).toEqual([...named, other.id].toReversed());
  const offered = ({ textsOf }: PageAnswer) => textsOf('select[name=key] option');
  expect(named.filter((name) => offered(page).includes(name))).toEqual(['new7', 'gone7', 'agent']);
  for (const name of ['old', 'oldgone', 'agentgone']) {
    const filtered = await visitor.get(`/dashboard/activity?key=${id(name)}`);
    expect(rowsOf(filtered).map((cells) => cells[3])).toEqual([name]);
    expect(offered(filtered)).toContain(name);
    expect(filtered.textOf('select[name=key] option[selected]')).toBe(name);
  }
  expect(offered(await visitor.get(`/dashboard/activity?key=${other.id}`))).not.toContain('of another');
});

/** All pages of the list from this one on, each by the link to older rows. */
async function pagesOf(visitor: Visitor, query: string): Promise<PageAnswer[]> {
  const pages: PageAnswer[] = [];
  for (let next: string | null = `/dashboard/activity${query}`; next !== null; ) {
    const page: PageAnswer = await visitor.get(next);
    pages.push(page);
    const [name] = page.textsOf('.contents a:last-child');
    next = name === 'Older' ? page.linksOf('.contents a:last-child')[0]! : null;
    // With the filter.
    expect(next ?? query).toContain(query.slice(1));
  }
  return pages;
}

test('over pages no call is missing or shown twice, though its rows are on several, and the latest stands first', async () => {
  const { visitor, accountId } = await createMember(service);
  await store((await createMember(service)).accountId, 30);
  const { sql } = service;
  const beganMs = Date.now() - 60_000;
  const calls = Array.from({ length: 230 }, () => randomUUID());
  // Each second call has a problem, every tenth gets its credit back; the parts are written one after the other.
  const part = (kind: 'charge' | 'return' | 'answer', every: number, charged: boolean) =>
    sql.begin(async (transaction) => {
      const chosen = calls.flatMap((call, n) =>
        n % every === 0 ? [{ call, at: new Date(beganMs + n * 100) }] : [],
      );
      const rows = sql`
        SELECT ${accountId}::text AS account_id, at, call::uuid AS call_id, NULL AS request_id, '' AS key_id, 'GET /companies' AS endpoint,
          ${kind === 'answer' ? 502 : null}::smallint AS status, ${kind === 'answer' ? 'search-failed' : null}::text AS problem,
          ${charged ? (kind === 'return' ? -1 : 1) : 0}::bigint AS credits, NULL::bigint AS unlisted, NULL::text AS reason
        FROM jsonb_to_recordset(${sql.json(chosen as never)}) AS chosen (call text, at timestamptz)`;
      await transaction`SELECT make_activity_days()`;
      await transaction`
        WITH numbers AS MATERIALIZED (SELECT take_activity_numbers(${chosen.length}) AS taken)
        ${writeActivity(sql, kind, rows)}`;
    });
  await part('answer', 2, false);
  await part('charge', 1, true);
  await part('return', 10, true);
  for (const [query, expected] of [
    ['', 230],
    ['?problems=yes', 115],
  ] as const) {
    const pages = await pagesOf(visitor, query);
    const seen = pages.flatMap((page) => rowsOf(page).map((cells) => cells[5]!));
    for (const { document } of pages) {
      const times = [...document.querySelectorAll('.activity time')].map((time) =>
        time.getAttribute('datetime'),
      );
      expect(times).toEqual(times.toSorted().toReversed());
    }
    expect([seen.length, new Set(seen).size]).toEqual([expected, expected]);
  }
  const [found, ...more] = await rows(visitor, `?request=${calls[10]}`);
  expect(found!.slice(1, 5)).toEqual(['502 search-failed', 'GET /companies', 'Dashboard', '0']);
  expect(more).toEqual([]);
});

test('the days of a plot and refused calls of a key lead to the calls', async () => {
  const { visitor, accountId, id } = await createMemberWithKey(service, 'refused');
  const { sql } = service;
  const counts = sql`
    VALUES (${accountId}, ${TODAY}, ${id}, 'search', 4), (${accountId}, ${TODAY}::date - 30, ${id}, 'search', 4)`;
  await storeCallCounts(sql, counts);
  await storeErrorCounts(sql, sql`VALUES (${accountId}, ${TODAY}, ${id}, 'rate-limit-exceeded', 13)`);
  const links = async (path: string, part: string) => (await visitor.get(`/dashboard${path}`)).linksOf(part);
  // Only days whose calls are kept.
  expect(await links('', '#calls tbody a')).toEqual([`/dashboard/activity?day=${TODAY}`]);
  expect(await links(`/keys/${id}`, '#use tbody a')).toEqual([`/dashboard/activity?key=${id}&day=${TODAY}`]);
  expect(await links('/keys', '.keys td a')).toEqual([`/dashboard/activity?key=${id}&problems=yes`]);
});

test('the last 48 hours have what was answered and what failed, each request once, hour by hour', async () => {
  const { visitor, accountId } = await createMember(service);
  expect((await visitor.get('/dashboard/activity')).document.querySelector('#hours')).toBeNull();
  const rows = (kind: string, count: number) => service.sql`
    VALUES (${accountId}, ${TODAY}::date, '', ${kind}, ${count}::integer), (${accountId}, ${TODAY}::date - 3, '', ${kind}, 100)`;
  await storeCallCounts(service.sql, rows('search', 4));
  await storeErrorCounts(service.sql, rows('rate-limit-exceeded', 13));
  // A credit of these four.
  const costly = service.sql`VALUES (${accountId}, ${TODAY}::date, '', '4xx', 2, 1)`;
  await storeCostlyErrorCounts(service.sql, costly);
  const page = await visitor.get('/dashboard/activity');
  expect(page.textsOf('#hours .legend li')).toEqual([
    'Answered (200) 3',
    'Too many requests in a minute (429) 13',
    'Not valid, not found or expired (400, 404, 410) 2',
  ]);
  expect(page.document.querySelector('#hours tbody time')!.getAttribute('datetime')).toBe(`${TODAY}T00:00Z`);
  expect(page.textsOf('#hours tbody td')).toEqual(['3', '13', '2', '18']);
  const filtered = await visitor.get('/dashboard/activity?problems=yes');
  expect(filtered.document.querySelector('#hours')).toBeNull();
});

test('without ACTIVITY_DAYS the page says that nothing is kept, and no plot leads there', async () => {
  await using off = await startDashboardService({ ACTIVITY_DAYS: '0' });
  const { visitor, accountId } = await createMember(off);
  await storeCallCounts(off.sql, off.sql`VALUES (${accountId}, ${TODAY}, '', 'search', 4)`);
  expect((await visitor.get('/dashboard/activity')).textOf('.empty')).toBe('This service keeps no activity.');
  expect((await visitor.get('/dashboard')).linksOf('#calls tbody a')).toEqual([]);
});
