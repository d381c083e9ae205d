import type { CallKind } from '../credits/call.ts';
import {
  type Answer,
  failureAnswer,
  OVERLOADED,
  type ProblemAnswer,
  problem,
  unavailable,
} from '../http/answer.ts';
import { readJson } from '../http/body.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { Gate } from '../runtime/gate.ts';
import { INVALID_KEY, identityOf } from './identity.ts';
import type { Handler, Payment } from './pipeline.ts';

/** The caller of a request whose body was read, and how it pays. */
export interface PostedContext {
  caller: Caller;
  /** Spends so many credits, at least one. */
  pay(credits: number): Promise<Payment>;
}

export interface PostedParts<Input> {
  kind: CallKind;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
  /** @param json null for a body that can't be read. @returns the detail of a problem if the body is not valid */
  read(json: unknown): { input: Input } | { invalid: string };
  answer(input: Input, context: PostedContext): Promise<Answer>;
  /** Bounds the requests that are answered at once, accounts in turn. A request enters it after its body was read. */
  gate?: Gate | undefined;
}

/**
 * A handler for requests whose body says how many credits they cost: it is read after the token and before the credits.
 * Reading costs nothing if the client leaves. A body that is not valid costs what a single call's bad input costs.
 */
export function createPostedHandler<Input>({
  kind,
  stopping,
  read,
  answer,
  gate,
}: PostedParts<Input>): Handler {
  async function answerInTurn(input: Input, context: PostedContext): Promise<Answer> {
    let leave: (() => void) | undefined;
    try {
      leave = await gate?.enter(context.caller.accountId);
    } catch (cause) {
      return failureAnswer(cause, unavailable(OVERLOADED, cause));
    }
    return answer(input, context).finally(leave);
  }

  return {
    charge: null,
    async handle({ request, caller, spend }) {
      const body = await readJson(request, stopping);
      if (body === 'unread') return unavailable('The request was not read to its end.');
      const outcome = read(body.json);
      const identity = body.bytes === null ? undefined : identityOf(request, caller.accountId, body.bytes);
      const pay = (credits: number) => spend(kind, credits, identity ?? undefined);
      if (identity !== null && 'input' in outcome) return answerInTurn(outcome.input, { caller, pay });
      const { refusal } = await pay(1);
      return refusal ?? problem('validation', 'invalid' in outcome ? outcome.invalid : INVALID_KEY);
    },
  };
}

/** The whole answer of a request that got no credit at all; `null` when it got some. */
export function refusalOfAll({ spent, refusal }: Payment): ProblemAnswer | null {
  return spent === 0 ? refusal : null;
}
