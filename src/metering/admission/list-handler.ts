/** Several items in one request: one token, one charge, and each item's answer in its place. */
import { type Answer, failureAnswer, type ProblemAnswer, unavailable } from '../../http/answer.ts';
import { type ApiRoute, BASE_PATH, templateOf } from '../../http/api-route.ts';
import { isFree } from '../../http/error-kind.ts';
import { type ItemList, type ItemProblem, OF_EVERY_ITEM } from '../../http/list-schema.ts';
import { PROBLEMS, type Problem, problemBody } from '../../http/problems.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Gate } from '../../platform/runtime/gate.ts';
import { type CallContext, free, type Handler, type Payment } from './quote.ts';

/** The answer to an item: its members beside its text and its status, as JSON, or a problem. */
export type ItemAnswer = { ok: true; json: string } | ProblemAnswer;

/** One item, after the reads that come before the credits. */
export interface Item {
  /** Whether it costs a credit. */
  isCharged: boolean;
  /** It is answered for nothing, also when the credits before it did not suffice. */
  isFree?: boolean;
  /** Its answer, asked for once its credit is charged. */
  answer(): ItemAnswer | Promise<ItemAnswer>;
}

export interface QuotedList {
  /** In the order in which they were asked. */
  items: Item[];
  /** The least price of the request; absent means none. With 0 a request without a charged item costs nothing. */
  least?: number;
  /** Further members of the whole answer, as JSON: `"datasets":{…}`. */
  more?: string;
}

/** @returns what counts the answers to items, of requests and of tools, by endpoint and status. */
export function createItemCounter(metrics: Metrics): NonNullable<ListService['countItem']> {
  const items = metrics.counter(
    'list_items_total',
    'Answers to the items of lists, by route template and status. The request itself is a 200.',
    'route',
    'status',
  );
  return (route, status, count) =>
    items.inc({ route: BASE_PATH + templateOf(route.path), status: String(status) }, count);
}

/** The body of a list: its items, by the name of the list. */
export type ListInput = Record<string, (string | number)[]>;

/** The parts of the service that handlers of lists get. */
export interface ListService {
  publicUrl: string;
  /** Counts answers to items. @param count 0 shows the series before its first event */
  countItem?: (route: ApiRoute, status: number, count: number) => void;
}

export interface ListParts extends ItemList, ListService {
  route: ApiRoute;
  /** Lists are answered in turn: each enters before its reads, and leaves with its answer. Absent: all at once. */
  gate?: Gate;
  /** Whether the reads are the work, so that a request is charged also if its client has left meanwhile. */
  isDue?: boolean;
  /** Reads what the items need. Without a credit its result is dropped. A failure is a 503. @param input the whole body */
  quote(asked: string[], context: CallContext, input: ListInput): Promise<QuotedList>;
}

/**
 * Answers a request of several items (docs/api.md: several items in one request).
 *
 * All reads come before the credits. Then it is known which items get an answer, and exactly those are charged. If the credits
 * suffice for some, the first items get them. A refund comes only of a store that fails later.
 */
export function createListHandler({
  route,
  publicUrl,
  countItem,
  quote,
  list,
  item: itemName,
  gate,
  isDue = false,
}: ListParts): Handler<ListInput> {
  for (const status of [200, ...OF_EVERY_ITEM.map((kind) => PROBLEMS[kind].status)])
    countItem?.(route, status, 0);
  return {
    async quote(input, context) {
      const asked = input[list]!.map(String);
      let quoted: QuotedList;
      let leave = () => {};
      try {
        if (gate !== undefined) leave = await gate.enter(context.caller.accountId);
        quoted = await quote(asked, context, input);
      } catch (cause) {
        leave();
        const failure = failureAnswer(cause, unavailable('The stored data could not be read.', cause));
        return free(() => failure);
      }
      const charged = quoted.items.map(({ isCharged }) => isCharged);
      const credits = Math.max(charged.filter(Boolean).length, quoted.least ?? 0);
      const kind = credits === 0 && quoted.least === 0 ? null : route.charge;
      const answer = (payment: Payment) => write(asked, quoted, payment);
      return { kind, credits, asked, charged, isDue, answer, end: leave };
    },
  };

  async function write(
    asked: string[],
    { items, more, least = 0 }: QuotedList,
    { spent, refusal, refund }: Payment,
  ): Promise<Answer> {
    let credits = spent;
    const begun = items.map((item) => {
      if (credits === 0 && refusal !== null && !item.isFree) return refusal;
      if (item.isCharged) credits -= 1;
      return item.answer();
    });
    const answers = begun.some((answer) => answer instanceof Promise) ? await Promise.all(begun) : begun;
    const itemProblems: Problem[] = [];
    const countByStatus = new Map<number, number>();
    let used = 0;
    const written = (answers as ItemAnswer[]).map((answered, index) => {
      if (items[index]!.isCharged && (answered.ok || !isFree(answered.problem.kind))) used += 1;
      const status = answered.ok ? 200 : PROBLEMS[answered.problem.kind].status;
      countByStatus.set(status, (countByStatus.get(status) ?? 0) + 1);
      if (!answered.ok) itemProblems.push(answered.problem);
      return `{"${itemName}":${JSON.stringify(asked[index])},${membersOf(answered)}}`;
    });
    // Once a status: the labels of a metric take longer than an item's answer.
    for (const [status, count] of countByStatus) countItem?.(route, status, count);
    refund(spent - Math.max(used, Math.min(least, spent)));
    const data = `"data":[${written.join(',')}]`;
    return { ok: true, json: more === undefined ? `{${data}}` : `{${data},${more}}`, itemProblems };
  }

  function membersOf(answer: ItemAnswer): string {
    if (answer.ok) return `"status":200,${answer.json}`;
    const { kind, members, headers = {} } = answer.problem;
    const body: ItemProblem = { ...problemBody(publicUrl, answer.problem), ...members };
    if (kind === 'service-unavailable') body.retryAfter = Number(headers['Retry-After']);
    return `"status":${body.status},"problem":${JSON.stringify(body)}`;
  }
}
