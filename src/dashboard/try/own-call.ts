import { randomUUID } from 'node:crypto';
import type { Answer } from '../../http/answer.ts';
import { type ApiRoute, endpointOf } from '../../http/api-route.ts';
import type { Input } from '../../http/input.ts';
import type { FaceCall } from '../../metering/admission/face.ts';
import type { Quote } from '../../metering/admission/quote.ts';
import type { MemberContext } from '../context.ts';
import { type Refusal, refuse } from '../request/forms.ts';

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
