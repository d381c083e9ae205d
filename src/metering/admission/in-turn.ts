import { failureAnswer, overloaded } from '../../http/answer.ts';
import type { Gate } from '../../platform/runtime/gate.ts';
import { free, type Handler } from './quote.ts';

/** A handler whose calls are answered in turn: each enters the gate before its reads, and leaves it with its answer. */
export function inTurn<Of>(gate: Gate, handler: Handler<Of>): Handler<Of> {
  return {
    async quote(input, context) {
      let leave: () => void;
      try {
        leave = await gate.enter(context.caller.accountId);
      } catch (cause) {
        const answer = failureAnswer(cause, overloaded(cause));
        return free(() => answer);
      }
      try {
        return { ...(await handler.quote(input, context)), end: leave };
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}
