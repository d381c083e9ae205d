import type { AdmissionContext, Handler } from '../../src/admission/pipeline.ts';
import type { Answer } from '../../src/http/answer.ts';

const ADMITTED: Pick<AdmissionContext, 'caller' | 'rate' | 'spend'> = {
  caller: { accountId: 'acc', keyId: 'key_test', plan: 'plus', requestsPerMinute: 60 },
  rate: { admitted: true, limit: 60, remaining: 41, waitUs: 0, nowUs: 0 },
  spend: async (_, credits) => ({ spent: credits, left: null, refusal: null, giveBack() {} }),
};

/** Runs a handler on a request as the pipeline does after the admission. */
export async function runHandler(
  handler: Handler,
  path: string,
  admitted: Partial<AdmissionContext> = {},
  init?: RequestInit,
): Promise<Answer> {
  const request = new Request(`http://service/api/v1/${path}`, init);
  const prefetched = handler.prefetch?.(request);
  return handler.handle({ ...ADMITTED, arrivedMs: performance.now(), ...admitted, request, prefetched });
}
