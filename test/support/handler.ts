import type { Answer } from '../../src/http/answer.ts';
import type { CallContext, Handler, Payment } from '../../src/metering/admission/quote.ts';
import type { Caller } from '../../src/metering/keys/authenticate.ts';

/** A Plus account with a key. */
export const CALLER: Caller = {
  accountId: 'acc',
  keyId: 'key_test',
  plan: 'plus',
  requestsPerMinute: 60,
  isTest: false,
  only: null,
  budget: null,
};

/** A call of a Plus account that has its token. */
const CONTEXT: CallContext = {
  arrivedMs: 0,
  caller: CALLER,
  rate: { taken: true, limit: 60, remaining: 41, waitUs: 0, nowUs: 0 },
  claim: async () => null,
};

/** A payment of so many credits. */
export const paid = (spent: number): Payment => ({
  spent,
  reason: null,
  left: null,
  isRepeated: false,
  refusal: null,
  cost: spent,
  refund() {},
  async settle() {},
});

/** Runs a handler on an input as the pipeline does after the admission. @param pay gets the credits of its quote */
export async function runHandler<Of>(
  handler: Handler<Of>,
  input: Of,
  { pay = paid, ...context }: Partial<CallContext> & { pay?: (credits: number) => Payment } = {},
): Promise<Answer> {
  const quote = await handler.quote(input, { ...CONTEXT, arrivedMs: performance.now(), ...context });
  const payment = pay(quote.credits);
  try {
    return await quote.answer(payment);
  } finally {
    quote.end?.(payment);
  }
}
