import { randomUUID } from 'node:crypto';
import type { Answer } from '../../http/answer.ts';
import { type ApiRoute, endpointOf } from '../../http/api-route.ts';
import type { Input } from '../../http/input.ts';
import type { FaceCall } from '../../metering/admission/face.ts';
import type { MemberContext } from '../page-context.ts';
import { type Refusal, refuse } from '../request/forms.ts';
import { awaitsConfirmation } from '../request/layout.ts';

/** Why a member can make no call of the API here; `null` if they can. */
export function callRefusal(context: MemberContext): Refusal | null {
  const { messages, account } = context;
  if (account.suspended) return refuse(403, { message: messages.suspendedRefusal });
  return awaitsConfirmation(context) ? refuse(403, { message: messages.confirmFirst }) : null;
}

/** A member who leaves gets no answer, but the call goes on. */
const NO_REQUEST = { headers: new Headers(), signal: new AbortController().signal };

/**
 * Makes a call for the member's account. It runs through the pipeline of calls with a key, so it costs and counts the same.
 *
 * @param identity of a call that is charged once, however often it is made
 * @returns the answer, the time that it took, and the context with the account as it is after the call
 */
export async function makeOwnCall(
  context: MemberContext,
  route: ApiRoute,
  input: Input,
  identity?: string,
): Promise<{ answer: Answer; durationMs: number; fresh: MemberContext }> {
  const { tools, account, trace } = context;
  const startedAt = performance.now();
  // A page may make several calls.
  trace.callId = randomUUID();
  trace.endpoint = endpointOf(route);
  const call: FaceCall = {
    right: null,
    charge: route.charge,
    quote: async (context) => ({ ...(await tools.handlers.get(route)!.quote(input, context)), identity }),
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
  // An answer that was charged is shown, also if Postgres is away by now.
  const after = await tools.readAccount(account.id).catch(() => account);
  return { answer, durationMs, fresh: { ...context, account: after } };
}
