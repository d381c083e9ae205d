import { createHmac, randomUUID } from 'node:crypto';
import type { Answer } from '../../http/answer.ts';
import { type ApiRoute, endpointOf } from '../../http/api-route.ts';
import { isFree } from '../../http/error-kind.ts';
import type { Input } from '../../http/input.ts';
import type { ItemProblem } from '../../http/list-schema.ts';
import { type Problem, type ProblemName, problemType } from '../../http/problems.ts';
import type { FaceCall } from '../../metering/admission/face.ts';
import type { Quote } from '../../metering/admission/quote.ts';
import { REPEAT_WINDOW_MS } from '../../metering/credits/call.ts';
import { SECOND } from '../../platform/units.ts';
import { countEach, forgetAttempts, forgetSingle, sendingsOf } from '../auth/limits.ts';
import type { MemberContext, PageContext } from '../context.ts';
import { problemText, prose } from '../reference/reference.ts';
import { keyFor, TOKEN_FIELD } from '../request/csrf.ts';
import { type Refusal, refuse } from '../request/forms.ts';
import { type Html, html, moreCredits } from '../ui/html.ts';
import { filled } from '../ui/states.ts';

/** Why a member can make no call of the API here; `null` if they can. */
export const callRefusal = ({ messages, account }: MemberContext): Refusal | null =>
  account.suspended ? refuse(403, { message: messages.suspendedRefusal }) : null;

/** A member who leaves gets no answer, but the call goes on. */
const NO_REQUEST = { headers: new Headers(), signal: new AbortController().signal };

/** The cost of a member's own call for the account. */
export interface Cost {
  /** Credits that this sending was charged, less those that come back. */
  credits: number;
  /** Whether an earlier sending of the call was charged, so that this one cost nothing. */
  isRepeated: boolean;
}

/** Whether the account has paid for the call, now or at an earlier sending. */
export const isPaid = ({ credits, isRepeated }: Cost): boolean => isRepeated || credits > 0;

export interface OwnCall {
  answer: Answer;
  cost: Cost;
  durationMs: number;
  /** The context with the account as it is after the call. */
  fresh: MemberContext;
}

/**
 * Makes a call for the member's account. It runs through the pipeline of calls with a key, so it costs and counts the same.
 *
 * @param identity of a call that is charged once, however often it is made
 */
export async function makeOwnCall(
  context: MemberContext,
  route: ApiRoute,
  input: Input,
  identity?: string,
): Promise<OwnCall> {
  const { tools, account, trace } = context;
  const startedAt = performance.now();
  // A page may make several calls.
  trace.callId = randomUUID();
  trace.endpoint = endpointOf(route);
  // An overloaded service refuses a call before the pipeline sets its credits.
  trace.credits = 0;
  const cost: Cost = { credits: 0, isRepeated: false };
  const call: FaceCall = {
    right: null,
    charge: route.charge,
    async quote(context) {
      const paidBefore = identity === undefined ? null : await context.claim(identity);
      const quote = await tools.handlers.get(route)!.quote(input, { ...context, paidBefore });
      const end: Quote['end'] = (payment) => {
        cost.isRepeated = payment.isRepeated;
        quote.end?.(payment);
      };
      return { ...quote, end };
    },
  };
  const answer = await tools.pipeline.serve(NO_REQUEST, trace, call, {
    keyId: '',
    accountId: account.id,
    plan: account.plan,
    requestsPerMinute: account.requestsPerMinute,
    isTest: false,
    only: null,
    budget: null,
  });
  const durationMs = performance.now() - startedAt;
  cost.credits = trace.credits;
  // An answer that was charged is shown, also if Postgres is away by now.
  const after = await tools.readAccount(account.id).catch(() => account);
  return { answer, cost, durationMs, fresh: { ...context, account: after } };
}

/** The text of a problem of a member's own call: what happened, what it cost, and what to do next. Programs get its JSON. */
export function callProblem(context: MemberContext, problem: Problem): Html {
  const { kind } = problem;
  const text = stateOf(context, problem) ?? explained(context, problem);
  return html`<p>${text} ${kind === 'monthly-quota-exceeded' && moreCredits(context)} ${problemLink(context, kind)}</p>`;
}

/** A link to the page of a problem. */
export function problemLink({ messages, tools }: MemberContext, kind: ProblemName): Html {
  return html`<a href="${problemType(tools.root, kind)}?lang=${messages.language}"><code>${kind}</code></a>`;
}

/** The kind of an item's problem, which its JSON has as an address. */
export const kindOf = ({ type }: Pick<ItemProblem, 'type'>): ProblemName =>
  type.slice(type.lastIndexOf('/') + 1) as ProblemName;

/** The text of the problem of a list's item, in the words of a call's: what happened, and whether the item was charged. */
export function itemProblem({ messages }: MemberContext, kind: ProblemName): string {
  const { states, language } = messages;
  const happened =
    kind === 'search-failed' ? states.searchAway.happened : `${problemText(kind, language).title}.`;
  return `${happened} ${isFree(kind) ? messages.itemFree : messages.itemCharged}`;
}

/** The state of the account or the service behind a problem; `null` if the problem is about the call itself. */
function stateOf({ messages, formats, account }: MemberContext, problem: Problem): string | null {
  const { states, language } = messages;
  const { kind, reason, headers = {} } = problem;
  const waitS = headers['Retry-After'] ?? '1';
  switch (kind) {
    // The notice above says since when, until when, and what to do.
    case 'monthly-quota-exceeded':
      return `${problemText(kind, language).title}.`;
    case 'rate-limit-exceeded':
      return filled(states.limited, [formats.number(account.requestsPerMinute)], [], [waitS]);
    case 'search-failed':
      return filled(states.searchAway);
    case 'service-unavailable':
      if (reason === 'overloaded') return filled(states.overloaded);
      // A longer wait is for refreshes of companies, which the problem explains.
      return waitS === '1' ? filled(states.postgresAway) : null;
    default:
      return null;
  }
}

function explained({ messages }: MemberContext, { kind }: Problem): Html {
  const { title, cause, fix } = problemText(kind, messages.language);
  return html`<strong>${title}.</strong> ${prose(cause)} ${prose(fix)}`;
}

/** A bracket of debt in words: `€7,500 to €25,000`. */
export function bracketText(
  { messages, formats }: PageContext,
  { start, end }: { start: number; end: number | null },
): string {
  const from = formats.euros(start);
  return end === null ? messages.openBracket(from) : messages.bracket(from, formats.euros(end));
}

/** The time of a request with its `Idempotency-Key`, less the longest time of a page: a sending in this time is never charged again. */
const FREE_MS = REPEAT_WINDOW_MS - 15 * SECOND;

/** How a list is sent. */
export interface Sending {
  /** The identity of its call, which is charged once. */
  identity: string;
  /**
   * To be called with its answer.
   * @returns the end of the time in which the list costs nothing again; `null` means that it is charged again
   */
  end(call: OwnCall): Promise<Date | null>;
}

/**
 * Begins the sending of a list whose price was seen. A list is charged once in ten minutes: a reload of its result, and the same list
 * again, are free. So a result that a browser has lost is shown again, though nothing of the list is stored.
 *
 * @returns `null` for a form that is sent again after the free time: the list must not be charged again without a question
 */
export async function beginSending(context: MemberContext, list: string[]): Promise<Sending | null> {
  const { tools, account, sent } = context;
  // Made with a secret, so that no request of a customer has it.
  const identity = createHmac('sha256', keyFor(tools.secret, 'screened lists'))
    .update(`${account.id}\n${JSON.stringify(list)}`)
    .digest('hex');
  const limit = { key: `list ${identity}`, max: 1, windowMs: FREE_MS };
  const [sentBefore, retryAfterS = null] = await countEach(tools.sql, sendingsOf(sent(TOKEN_FIELD)), limit);
  const forget = () => forgetAttempts(tools.sql, limit.key);
  const isRepeated = retryAfterS !== null;
  if (sentBefore !== null && !isRepeated) {
    await forget();
    return null;
  }
  const startedMs = Date.now();
  const leftMs = retryAfterS === null ? FREE_MS : retryAfterS * SECOND;
  return {
    identity,
    async end({ answer, cost }) {
      // A repetition that is refused leaves the list paid.
      const isFree = isPaid(cost) || (isRepeated && !answer.ok);
      if (!isFree) {
        await forget();
        return null;
      }
      // The charge that a first sending has joined is of another one at the same moment, or older than the free time.
      const hasJoined = !isRepeated && cost.isRepeated;
      // A paid answer is shown, also if Postgres is away by now.
      const isOver = hasJoined && (await forgetSingle(tools.sql, limit.key).catch(() => true));
      return isOver ? null : new Date(startedMs + leftMs);
    },
  };
}
