import type { Answer } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import type { MemberContext } from '../page-context.ts';
import { type Refusal, refuse } from '../request/forms.ts';
import { awaitsConfirmation } from '../request/layout.ts';

/** Why a member can make no call of the API here; `null` if they can. */
export function callRefusal(context: MemberContext): Refusal | null {
  const { messages, account } = context;
  if (account.suspended) return refuse(403, { message: messages.suspendedRefusal });
  return awaitsConfirmation(context) ? refuse(403, { message: messages.confirmFirst }) : null;
}

/**
 * Makes a call for the member's account. It runs through the pipeline of calls with a key, so it costs and counts the same.
 *
 * @returns the answer, the time that it took, and the context with the account as it is after the call
 */
export async function makeOwnCall(
  context: MemberContext,
  request: Request,
  route: ApiRoute,
): Promise<{ answer: Answer; durationMs: number; fresh: MemberContext }> {
  const { tools, account, trace } = context;
  const startedAt = performance.now();
  const answer = await tools.pipeline.serve(request, trace, tools.handlers.get(route)!, {
    keyId: '',
    accountId: account.id,
    plan: account.plan,
    requestsPerMinute: account.requestsPerMinute,
    isTest: false,
  });
  const durationMs = performance.now() - startedAt;
  // An answer that was charged is shown, also if Postgres is away by now.
  const after = await tools.readAccount(account.id).catch(() => account);
  return { answer, durationMs, fresh: { ...context, account: after } };
}
