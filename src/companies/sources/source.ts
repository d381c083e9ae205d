import { createBreaker } from './breaker.ts';
import { createJsonClient, type Question } from './http.ts';
import type { CompanySource, SourceAnswer, SourceName } from './types.ts';

/**
 * A source with its own connections and circuit breaker.
 * @param ask finds a company by the requests of one question
 */
export function createSource(
  name: SourceName,
  timeoutMs: number,
  now: () => number,
  ask: (nif: string, question: Question) => Promise<SourceAnswer>,
): CompanySource {
  const client = createJsonClient(name, timeoutMs);
  const guarded = createBreaker(name, now);
  return {
    name,
    find: (nif, permit = async () => {}) => guarded(nif, () => ask(nif, client.begin(permit))),
    close: () => client.close(),
  };
}
