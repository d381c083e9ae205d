import type { Answer } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { isFirstSending } from '../auth/limits.ts';
import type { MemberContext } from '../page-context.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { type Refusal, refuse } from '../request/forms.ts';
import { awaitsConfirmation } from '../request/layout.ts';

/** Why a member can make no call of the API here; `null` if they can. */
export function callRefusal(context: MemberContext): Refusal | null {
  // Each page of a suspended account says so.
  if (context.account.suspended) return refuse(403);
  return awaitsConfirmation(context) ? refuse(403, { message: context.messages.confirmFirst }) : null;
}

/**
 * Makes a call for the member's account. It runs through the pipeline of calls with a key, so it costs and counts the same. A
 * form that is sent again makes no call.
 *
 * @returns the answer, the time that it took, and the context with the account as it is after the call
 */
export async function makeOwnCall(
  context: MemberContext,
  request: Request,
  route: ApiRoute,
): Promise<{ answer: Answer; durationMs: number; fresh: MemberContext } | Refusal> {
  const { tools, messages, sent, account, trace } = context;
  if (!(await isFirstSending(tools.sql, sent(TOKEN_FIELD)))) {
    return refuse(409, { message: messages.triedAlready });
  }
  const startedAt = performance.now();
  const answer = await tools.pipeline.serve(request, trace, tools.handlers.get(route)!, {
    keyId: '',
    accountId: account.id,
    plan: account.plan,
    requestsPerMinute: account.requestsPerMinute,
  });
  const durationMs = performance.now() - startedAt;
  return { answer, durationMs, fresh: { ...context, account: await tools.readAccount(account.id) } };
}
