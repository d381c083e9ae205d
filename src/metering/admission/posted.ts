import type { TObject } from '@sinclair/typebox';
import { failureAnswer, OVERLOADED, problem, unavailable } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { readJson } from '../../http/body.ts';
import { createBodyCheck } from '../../http/body-check.ts';
import type { CallKind } from '../../http/call-kind.ts';
import type { Gate } from '../../platform/runtime/gate.ts';
import { type CallContext, free, type Handler, type Quote, single } from './quote.ts';

export interface PostedParts<Input> {
  /** Its `body` is what the endpoint takes. */
  route: ApiRoute;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
  /** @param input has passed the route's schema. A failure is a fault of this program */
  quote(input: Input, context: CallContext): Promise<Quote>;
  /** Bounds the requests that are answered at once, accounts in turn. A request enters it after its body was read. */
  gate?: Gate | undefined;
}

/**
 * A handler for requests with a body. Reading it costs nothing if the client leaves. A body that is not what the route's schema
 * says costs what a single call's bad input costs.
 */
export function createPostedHandler<Input>({ route, stopping, quote, gate }: PostedParts<Input>): Handler {
  const kind = route.charge as CallKind;
  const check = createBodyCheck(route.body as TObject);

  async function quoteInTurn(input: Input, context: CallContext): Promise<Quote> {
    let leave: (() => void) | undefined;
    try {
      leave = await gate?.enter(context.caller.accountId);
    } catch (cause) {
      const answer = failureAnswer(cause, unavailable(OVERLOADED, cause));
      return free(() => answer);
    }
    try {
      const quoted = await quote(input, context);
      return leave === undefined ? quoted : { ...quoted, end: leave };
    } catch (error) {
      leave?.();
      throw error;
    }
  }

  return {
    charge: null,
    async quote(context) {
      const body = await readJson(context.request, stopping);
      if (body === 'unread') return free(() => unavailable('The request was not read to its end.'));
      const fault = check(body.json);
      const quoted =
        fault === null
          ? await quoteInTurn(body.json as Input, context)
          : single(kind, () => problem('validation', fault));
      return { ...quoted, sent: body.sent };
    },
  };
}
