/**
 * What a form can make the process render, sort or compress is bounded before it begins: the largest body of each form, beside one of a row.
 * The forms and the fields that each reads are the dashboard's own. growth.test.ts bounds what pages read.
 */
import { afterAll, expect, spyOn, test } from 'bun:test';
import { MAX_FORM_BYTES, MAX_LIST_BYTES } from '../../src/dashboard/request/read-form.ts';
import { ROUTES, type Route } from '../../src/dashboard/routes.ts';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import * as bucket from '../../src/metering/rate-limit/bucket.ts';
import { nif } from '../support/companies.ts';
import { startDashboardService } from './service.ts';
import { cookiesOf, createMember, formTokenOf } from './visitor.ts';

/** Beside one row of the same request. The fullest take 5 to 10 times its CPU, and took 40 to 100 times without a bound. */
const MOST = 20;
/** A request takes about 1 ms. Fewer are not told apart. */
const LEAST_MS = 1;

const service = await startDashboardService();
const { sql, baseUrl } = service;
const { unitsNow } = bucket;
const fullBuckets = spyOn(bucket, 'unitsNow').mockImplementation((_, limit, atUs) =>
  unitsNow(null, limit, atUs),
);
afterAll(async () => {
  await service.stop();
  fullBuckets.mockRestore();
});

/** What a field can be full of: rows, numbers, words, cells, choices, escaped characters, and texts that are hard for patterns. */
const PARTS = [
  ...['\n', 'a\n', `${nif(1)}\n`, '123456789 ', '1:509442013 ', 'abc '],
  ...[' a', 'a b;', ';', '"', '1', '1.1', '1,1E', 'a@'],
];
/** The same in rows that are as long as those of the largest list that is read. */
const IN_ROWS = PARTS.map((part) => `${part.repeat(95).replaceAll('\n', '').slice(0, 95)}\n`);

/** The CPU of a request in ms, of the process, whose other half sends it. The least of some rounds, because the machine may disturb it. */
async function cpuMs(send: () => Promise<Response>, rounds: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  let refused = 0;
  for (let round = 0; round < rounds; ) {
    // So that each request has its attempt.
    await sql`DELETE FROM dashboard_attempts`;
    const before = process.cpuUsage();
    const answer = await send();
    await answer.arrayBuffer();
    const { user, system } = process.cpuUsage(before);
    // A busy machine, which the page tells a person to wait for.
    if (answer.status === 503 && ++refused < 10) continue;
    if (answer.status === 429 || answer.status >= 500) throw new Error(`it was answered ${answer.status}`);
    least = Math.min(least, (user + system) / 1000);
    round += 1;
  }
  return least;
}

/**
 * Measures a request beside that of one row. One that takes too much is measured again, because the machine may have disturbed it.
 * @returns the CPU of both in ms if it takes too much; otherwise `null`
 */
async function tooMuch(one: () => Promise<Response>, largest: () => Promise<Response>) {
  let [oneMs, largestMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 20; round += 1) {
    oneMs = Math.min(oneMs, await cpuMs(one, 3));
    largestMs = Math.min(largestMs, await cpuMs(largest, 1));
    if (largestMs <= MOST * Math.max(oneMs, LEAST_MS)) return null;
  }
  return { oneMs, largestMs };
}

/** A member of Plus, what their browser sends, and the token of a form. */
async function newSender(isVisitor = false) {
  const { visitor, ...member } = await createMember(service);
  await changePlan(sql, member.accountId, 'plus', {}, 'test');
  if (isVisitor) visitor.cookies.clear();
  const form_token = await formTokenOf(visitor, `/dashboard/${isVisitor ? 'sign-in' : 'settings/name'}`);
  const headers = { Cookie: cookiesOf(visitor), 'Accept-Encoding': 'gzip', Origin: baseUrl };
  const post = (path: string, fields: Record<string, string>) =>
    fetch(`${baseUrl}/dashboard${path}`, {
      ...{ headers, redirect: 'manual', decompress: false },
      ...{ method: 'POST', body: new URLSearchParams({ form_token, ...fields }) },
    } as RequestInit);
  return { member, post };
}

/** The fields that the form of a route reads, as far as it has been sent. */
function fieldsOf(route: Route): Set<string> {
  const names = new Set<string>();
  const handle = route.POST as (context: object) => Promise<never>;
  route.POST = (context: { sent(name: string): string }) =>
    handle({
      ...context,
      sent(name: string) {
        names.add(name);
        return context.sent(name);
      },
    });
  return names;
}

/** A value of so many bytes in a form. */
function filled(part: string, bytes: number): string {
  const size = (text: string) => new URLSearchParams({ text }).toString().length - 'text='.length;
  return part.repeat(bytes / size(part));
}

const forms = Object.entries(ROUTES).filter(([, route]) => route.POST !== undefined);
test.each(forms)('the form %s, with the largest value of each field that it reads', async (path, route) => {
  const { member, post } = await newSender(route.for === 'anyone');
  const { id } = await createKey(sql, member.accountId, 'own', 'test');
  const right = { list: nif(1), name: 'a', email: 'a@example.com', q: 'padaria', present: member.password };
  const send = (fields: Record<string, string>) => post(path.replace(':id', id), { ...right, ...fields });
  const names = fieldsOf(route);
  await send({});
  const bytes = (route.hasList ? MAX_LIST_BYTES : MAX_FORM_BYTES) - 1000;
  const found: unknown[] = [];
  for (const name of names)
    for (const part of [...PARTS, ...(route.hasList ? IN_ROWS : [])]) {
      const largest = () => send({ [name]: filled(part, bytes) });
      const figures = await tooMuch(() => send({ [name]: part }), largest);
      if (figures !== null) found.push({ name, part, ...figures });
    }
  expect(found).toEqual([]);
});

test('a list of a thousand companies and as many rows without one, screened', async () => {
  const { post } = await newSender();
  const screen = (count: number) => {
    const rows = Array.from({ length: count }, (_, n) => `${nif(n)}\n"""""""""""""""""""""""""""""""""\n`);
    return post('/screen', { list: rows.join(''), price: String(count) });
  };
  const figures = await tooMuch(
    () => screen(1),
    () => screen(1000),
  );
  expect(figures).toBeNull();
});
