import type { ApiRoute } from '../http/api-route.ts';
import { exampleOf } from '../http/input.ts';
import { type CallContext, NOTHING_PAID } from '../metering/admission/quote.ts';
import type { Handlers } from './endpoints.ts';

/** A test key with a full bucket. */
const CONTEXT: Pick<CallContext, 'caller' | 'rate'> = {
  caller: {
    accountId: '',
    keyId: '',
    plan: 'free',
    requestsPerMinute: 20,
    isTest: true,
    only: null,
    budget: null,
  },
  rate: { taken: true, limit: 20, remaining: 19, waitUs: 0, nowUs: 0 },
};

/**
 * The answers of the reference: what a test key gets to the example request of each endpoint. So no example shows a real company,
 * and each can be had for nothing.
 */
export async function exampleAnswers(handlers: Handlers): Promise<ReadonlyMap<ApiRoute, unknown>> {
  const answers = [...handlers].map(async ([route, handler]): Promise<[ApiRoute, unknown]> => {
    if (route.exampleAnswer !== undefined) return [route, route.exampleAnswer];
    const context = { ...CONTEXT, arrivedMs: performance.now(), claim: async () => null };
    const quote = await handler.quote(exampleOf(route), context);
    const answer = await quote.answer({ ...NOTHING_PAID, spent: quote.credits });
    if (!answer.ok)
      throw new Error(`the example request of ${route.detail.operationId} gets ${answer.problem.kind}`);
    return [route, JSON.parse(answer.json)];
  });
  return new Map(await Promise.all(answers));
}
