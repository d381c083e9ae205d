/** The cost of a call on the pages Try and Screen, compared with the ledger, for every problem of a call and of an item. */
import { afterAll, afterEach, describe, expect, spyOn, test } from 'bun:test';
import { debtsRoute } from '../../src/companies/debts/debts-route.ts';
import { lookupRoute } from '../../src/companies/lookup/lookup-route.ts';
import { resolutionsRoute } from '../../src/companies/resolve/resolve-route.ts';
import { searchRoute } from '../../src/companies/search/search-route.ts';
import { problem, unavailable } from '../../src/http/answer.ts';
import { type ApiRoute, problemsOf, UNPAID } from '../../src/http/api-route.ts';
import { OF_EVERY_ITEM } from '../../src/http/list-schema.ts';
import { PROBLEMS, type ProblemName } from '../../src/http/problems.ts';
import { changeLimits } from '../../src/metering/accounts/changes.ts';
import {
  createListHandler,
  type ItemAnswer,
  type ListInput,
} from '../../src/metering/admission/list-handler.ts';
import { type Handler, type Quote, single } from '../../src/metering/admission/quote.ts';
import { refundOwed } from '../../src/metering/credits/refund.ts';
import * as endpoints from '../../src/service/endpoints.ts';
import { ledgerOf } from '../metering/credits/ledger.ts';
import { nif } from '../support/companies.ts';
import { eventually } from '../support/until.ts';
import { startDashboardService } from './service.ts';
import { createMember, type PageAnswer, type Visitor } from './visitor.ts';

type Outcome = ProblemName | 'found' | 'empty' | 'thrown';

/** The answers of the next call to its items, or to the whole of it. Further items are found. */
let outcomes: Outcome[] = [];

const found: Record<string, string> = {
  names: `"clear":false,"words":[],"candidates":[{"nif":"${nif(1)}","legal_name":"Padaria"}]`,
  nifs: '"debts":{"tax_debt":null,"social_security_debt":null}',
};

function answerOf(list: string, outcome: Outcome = 'found'): ItemAnswer {
  if (outcome === 'thrown') throw new TypeError('a fault of this program');
  if (outcome === 'found') return { ok: true, json: found[list]! };
  if (outcome === 'empty') return { ok: true, json: '"clear":false,"words":[],"candidates":[]' };
  return outcome === 'service-unavailable' ? unavailable('away') : problem(outcome);
}

/** Whether an item costs nothing, as is known after the reads of names. */
const isFree = (list: string, outcome: Outcome = 'found') =>
  outcome === 'empty' || (list === 'names' && outcome === 'service-unavailable');

/** A list as its route has it, with answers that the test has chosen. */
function listHandler(route: ApiRoute, list: string, item: string): Handler {
  const handler = createListHandler({
    ...{ route, list, item, max: 1000, publicUrl: 'http://service' },
    quote: async (asked) => ({
      items: asked.map((text, index) => ({
        ...{ asked: text, answer: () => answerOf(list, outcomes[index]) },
        ...{ isCharged: !isFree(list, outcomes[index]), isFree: isFree(list, outcomes[index]) },
      })),
      ...(list === 'names' && {
        least: asked.every((_, at) => outcomes[at] === 'service-unavailable') ? 0 : 1,
      }),
      more: '"datasets":{"tax":null,"social_security":null},"files":{"tax":null,"social_security":null}',
    }),
  });
  return {
    async quote(input, context) {
      const quote = await handler.quote(input as unknown as ListInput, context);
      // The credits may end for the reason of the test.
      const kind = outcomes.find((outcome) => UNPAID.some((each) => each === outcome)) as ProblemName;
      const answer: Quote['answer'] = (payment) =>
        quote.answer(payment.refusal === null ? payment : { ...payment, refusal: problem(kind) });
      return { ...quote, answer };
    },
  };
}

const callHandler: Handler = {
  quote: () =>
    single('search', () => {
      const answer = answerOf('nifs', outcomes[0]);
      return answer.ok ? { ok: true, json: '{"data":[]}' } : answer;
    }),
};

const { openEndpoints } = endpoints;
const opening = spyOn(endpoints, 'openEndpoints').mockImplementation(
  (...given) =>
    new Map([
      ...openEndpoints(...given),
      [searchRoute, callHandler],
      [lookupRoute, callHandler],
      [resolutionsRoute, listHandler(resolutionsRoute, 'names', 'name')],
      [debtsRoute, listHandler(debtsRoute, 'nifs', 'nif')],
    ]),
);
const service = await startDashboardService();
const { sql } = service;
opening.mockRestore();
afterEach(() => {
  outcomes = [];
});
afterAll(() => service.stop());

/** A member with so many credits. */
async function memberWith(includedCredits: number) {
  const member = await createMember(service);
  await changeLimits(sql, member.accountId, { includedCredits }, 'test');
  return member;
}

/** What the page says that the call cost. */
function saidCost(page: PageAnswer): number {
  const text = page.textOf('main')!;
  const [, count] = /(\d+) credits? spent/.exec(text) ?? [];
  if (count === undefined && !/no credit spent/i.test(text)) throw new Error(`no cost is said: ${text}`);
  return Number(count ?? 0);
}

/** The outcome of each row of a page, in words. */
const outcomesOf = ({ textsOf }: PageAnswer, list: string) =>
  textsOf(list === 'names' ? '[data-resolved] td:nth-child(2)' : '.screened td:nth-child(4)');

/** The credits that the account has used in the end, and its calls. */
const expectUsed = (accountId: string, used: number) =>
  eventually(async () => {
    await refundOwed(sql);
    const ledger = await ledgerOf(sql, accountId);
    return [Number(ledger.used), Number(ledger.calls)];
  }, [used, used]);

const LISTS = [
  { name: 'names', route: resolutionsRoute, own: ['search-failed'] as ProblemName[] },
  { name: 'nifs', route: debtsRoute, own: [] as ProblemName[] },
];
const KINDS = LISTS.flatMap(({ name, own }) =>
  [...OF_EVERY_ITEM, ...own].map((kind) => [name, kind] as const),
);

/** The schema of a list's answer. */
interface ListSchema {
  properties: { data: { items: { anyOf: { properties: { status: { enum: number[] } } }[] } } };
}

test.each(LISTS)('the problems of items of $name are those of the route', ({ route, own }) => {
  const { data } = (route.success as unknown as ListSchema).properties;
  const failed = data.items.anyOf.find(({ properties }) => 'problem' in properties)!;
  const statuses = failed.properties.status.enum;
  expect(statuses).toEqual(
    [...new Set([...OF_EVERY_ITEM, ...own].map((kind) => PROBLEMS[kind].status))].sort(),
  );
});

const UNREAD = Array<Outcome>(3).fill('service-unavailable');

describe('Screen', () => {
  const send = (visitor: Visitor, name: string, count: number) => {
    const rows = Array.from({ length: count }, (_, n) =>
      name === 'names' ? `Padaria ${'abc'[n]}` : nif(n + 1),
    );
    const asked = name === 'names' ? { resolve: 'yes' } : { price: String(count) };
    return visitor.submit('/dashboard/screen', { list: rows.join('\n'), ...asked });
  };

  test.each(KINDS)('of %s with an item %s: the page says what the ledger has', async (name, kind) => {
    const isUnpaid = UNPAID.some((each) => each === kind);
    const { visitor, accountId } = await memberWith(isUnpaid ? 2 : 10);
    outcomes = ['found', 'found', kind];
    const page = await send(visitor, name, 3);
    const isFree = isUnpaid || kind === 'service-unavailable';
    expect(saidCost(page)).toBe(isFree ? 2 : 3);
    await expectUsed(accountId, saidCost(page));
    const said = outcomesOf(page, name)[2]!;
    if (isUnpaid) expect(said).toBe('Not screened, not charged');
    else expect(said).toEndWith(`${isFree ? 'It has cost nothing.' : 'It has cost 1 credit.'} ${kind}`);
    // Sent again, it costs nothing, and the page says so.
    const again = await send(visitor, name, 3);
    expect(again.textOf('main')).toContain('No credit spent: this list was charged before');
    await expectUsed(accountId, saidCost(page));
  });

  test.each([
    ['a search that fails for each name', 'names', Array(3).fill('search-failed'), 3],
    ['names without a candidate', 'names', Array(3).fill('empty'), 1],
    ['a name without a candidate, and a failed search', 'names', ['empty', 'search-failed'], 1],
    ['a name without a candidate, and one that was not read', 'names', ['empty', 'service-unavailable'], 1],
    ['a fault of this program, with names', 'names', Array(3).fill('thrown'), 3],
    ['a fault of this program, with NIFs', 'nifs', Array(3).fill('thrown'), 3],
    ['names that were not read, so that the next sending costs', 'names', UNREAD, 0],
    ['NIFs that were not read, so that the next sending costs', 'nifs', UNREAD, 0],
  ] as const)(
    '%s: the page says what the ledger has, and what a repetition costs',
    async (_, name, all, cost) => {
      const { visitor, accountId } = await memberWith(10);
      outcomes = [...all];
      const page = await send(visitor, name, all.length);
      expect(saidCost(page)).toBe(cost);
      const isEmpty = all.some((each) => each === 'empty') && !all.some((each) => each === 'search-failed');
      expect(page.text.includes('Nothing was found.')).toBe(isEmpty);
      await expectUsed(accountId, cost);
      outcomes = [];
      const again = await send(visitor, name, all.length);
      // It promises nothing for free.
      if (cost === 0) expect(page.textOf('[data-free]')).toBe(name === 'names' ? null : '0 credits spent.');
      if (cost === 0) expect(saidCost(again)).toBe(3);
      else expect(again.textOf('main')).toContain('No credit spent: this list was charged before');
      await expectUsed(accountId, cost || 3);
    },
  );

  test('names that differ by a comma and the end of a line alone are two lists', async () => {
    const { visitor, accountId } = await memberWith(10);
    const resolve = (list: string) => visitor.submit('/dashboard/screen', { list, resolve: 'yes' });
    expect(saidCost(await resolve('Silva,Lda'))).toBe(1);
    expect(saidCost(await resolve('Silva\nLda'))).toBe(2);
    await expectUsed(accountId, 3);
  });

  test('a company that was not paid is offered again, also by a repetition, and one that failed is not', async () => {
    const { visitor, accountId } = await memberWith(2);
    outcomes = ['found', 'internal-error', 'monthly-quota-exceeded'];
    const page = await send(visitor, 'nifs', 3);
    expect([page.valueOf('#rest [name=list]'), saidCost(page)]).toEqual([nif(3), 2]);
    await changeLimits(sql, accountId, { includedCredits: 10 }, 'test');
    const again = await send(visitor, 'nifs', 3);
    expect(again.valueOf('#rest [name=list]')).toBe(nif(3));
    expect(outcomesOf(again, 'nifs')[2]).toBe('Not screened, not charged');
    await expectUsed(accountId, 2);
  });
});

describe('Try', () => {
  const CALLS = [
    ['search', searchRoute],
    ['lookup', lookupRoute],
  ] as const;
  /** Refusals of the stages before the handler. */
  const OF_OTHER_STAGES: Outcome[] = [
    ...UNPAID,
    ...(['unauthorized', 'authentication-failed', 'not-permitted', 'rate-limit-exceeded'] as const),
  ];
  const OUTCOMES = CALLS.flatMap(([kind, route]) =>
    (['thrown', ...problemsOf(route)] as Outcome[]).map((outcome) => [kind, outcome] as const),
  ).filter(([, outcome]) => !OF_OTHER_STAGES.includes(outcome));
  OUTCOMES.push(['search', 'found']);

  test.each(OUTCOMES)('of a %s answered %s: the page says what the ledger has', async (kind, outcome) => {
    const { visitor, accountId } = await memberWith(10);
    outcomes = [outcome];
    const page = await visitor.submit('/dashboard/try', { q: nif(1), kind });
    expect(saidCost(page)).toBe(outcome === 'service-unavailable' ? 0 : 1);
    await expectUsed(accountId, saidCost(page));
  });
});
