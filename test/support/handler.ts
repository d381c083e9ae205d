import type { Answer } from '../../src/http/answer.ts';
import type { CallContext, Handler, Payment } from '../../src/metering/admission/quote.ts';

const CONTEXT: Pick<CallContext, 'caller' | 'rate'> = {
  caller: { accountId: 'acc', keyId: 'key_test', plan: 'plus', requestsPerMinute: 60, isTest: false },
  rate: { taken: true, limit: 60, remaining: 41, waitUs: 0, nowUs: 0 },
};

/** A payment of so many credits. */
export const paid = (spent: number): Payment => ({
  ...{ spent, quota: null, left: null, isRepeated: false, refusal: null, refund() {} },
});

/** Runs a handler on a request as the pipeline does after the admission. @param pay gets the credits of its quote */
export async function runHandler(
  handler: Handler,
  path: string,
  { pay = paid, ...context }: Partial<CallContext> & { pay?: (credits: number) => Payment } = {},
  init?: RequestInit,
): Promise<Answer> {
  const request = new Request(`http://service/api/v1/${path}`, init);
  const quote = await handler.quote({ ...CONTEXT, arrivedMs: performance.now(), ...context, request });
  const payment = pay(quote.credits);
  try {
    return await quote.answer(payment);
  } finally {
    quote.end?.(payment);
  }
}
