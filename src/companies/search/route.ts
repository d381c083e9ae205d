import { Type } from '@sinclair/typebox';
import {
  type Answer,
  failureAnswer,
  okJson,
  type ProblemAnswer,
  problem,
  unavailable,
} from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { searchOf } from '../../http/url.ts';
import { type Handler, single } from '../../metering/admission/quote.ts';
import type { AnswerSearch } from './answer.ts';
import { parseQuery } from './query.ts';
import { SearchAnswerSchema } from './schema.ts';
import { DirectoryAwayError } from './search.ts';

/** GET /companies?q= */
export const searchRoute: ApiRoute = {
  path: '/companies',
  query: Type.Object({
    q: Type.String({
      description: 'Company name or NIF; not empty after trimming.',
      pattern: '\\S',
      examples: ['padaria'],
    }),
  }),
  success: SearchAnswerSchema,
  problems: ['validation', 'search-failed'],
  charge: 'search',
  detail: {
    operationId: 'searchCompanies',
    summary: 'Search companies',
    description:
      'Finds companies whose normalized legal name begins with the normalized query, or the one with the NIF that the query contains. At most 20 entries; exact matches first, the rest by legal name.',
  },
};

/** Searches the directory for the first `q`. */
export function createSearchHandler(search: AnswerSearch): Handler {
  return {
    charge: searchRoute.charge,
    quote({ request }) {
      const q = qOf(request.url);
      if (q === null) return single('search', () => problem('validation', MISSING_Q));
      return { ...single('search', () => answer(q)), isSearch: true };
    },
  };

  async function answer(q: string): Promise<Answer> {
    try {
      return okJson(await search(parseQuery(q)));
    } catch (cause) {
      return searchProblem(cause);
    }
  }
}

export const MISSING_Q =
  '`q` is missing or holds only white space. It takes a company name or a NIF, for example: padaria';

/** The first `q` of an address; `null` if there is none, or it holds only white space. */
export function qOf(url: string): string | null {
  // Malformed escapes stay as they are; a search for them finds nothing.
  const q = new URLSearchParams(searchOf(url)).get('q');
  return q === null || q.trim() === '' ? null : q;
}

/** The problem of a search that failed. @throws a fault of this program */
export function searchProblem(cause: unknown): ProblemAnswer {
  const isAway = cause instanceof DirectoryAwayError;
  const away = () => unavailable('The directory is out of reach.', cause);
  return failureAnswer(cause, isAway ? away() : problem('search-failed', undefined, { cause }));
}
