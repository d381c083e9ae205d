import { Type } from '@sinclair/typebox';
import { type Handler, single } from '../admission/plan.ts';
import { type ProblemAnswer, problem } from '../http/answer.ts';
import type { ApiRoute } from '../http/api-route.ts';
import type { AnswerQuery } from '../search/answer.ts';
import { MISSING_Q, qOf, searchProblem } from '../search/route.ts';
import { EXAMPLE_ENTRY, SearchAnswerSchema } from '../search/schema.ts';
import { MAX_WORDS, type MatchQuery, parseMatchQuery } from './query.ts';

/** The answer of the example directory to the example query. */
export const EXAMPLE_MATCH = {
  ...EXAMPLE_ENTRY,
  nif: '503027790',
  legal_name: 'Gaia Pinto - Construções, Lda',
};

/** GET /matches?q= (contract: matches) */
export const matchesRoute: ApiRoute = {
  path: '/matches',
  query: Type.Object({
    q: Type.String({
      description: `Words of a company's name, at most ${MAX_WORDS}, or a NIF; not empty after trimming.`,
      pattern: '\\S',
      examples: ['construções gaia'],
    }),
  }),
  success: SearchAnswerSchema,
  exampleAnswer: () => ({ data: [EXAMPLE_MATCH], error: null }),
  problems: ['validation', 'search-failed'],
  charge: 'match',
  detail: {
    operationId: 'matchCompanies',
    summary: 'Find companies by any words of their names',
    description:
      'Finds companies whose normalized legal name has every word of the normalized query, the last one as the beginning of a word, or the one with the NIF that the query contains. At most 20 entries: names that begin with the query, then names that have all words whole, then the rest; each by legal name.',
  },
};

const TOO_MANY_WORDS = `The query has over ${MAX_WORDS} words.`;

/** Finds companies by the first `q`. */
export function createMatchHandler(answer: AnswerQuery<MatchQuery>): Handler {
  return {
    charge: matchesRoute.charge,
    plan({ request }) {
      const q = qOf(request.url);
      if (q === null) return single('match', () => problem('validation', MISSING_Q));
      return { ...single('match', () => answerMatch(q, answer)), isSearch: true };
    },
  };
}

/** The JSON of an answer, or the problem of its query. @param q not only white space */
export async function answerMatch(
  q: string,
  answer: AnswerQuery<MatchQuery>,
): Promise<{ ok: true; json: string } | ProblemAnswer> {
  const query = parseMatchQuery(q);
  if (query === null) return problem('validation', TOO_MANY_WORDS);
  try {
    return { ok: true, json: await answer(query) };
  } catch (cause) {
    return searchProblem(cause);
  }
}
