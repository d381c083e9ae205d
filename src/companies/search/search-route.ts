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
import { type Handler, single } from '../../metering/admission/quote.ts';
import type { AnswerQuery } from './answer.ts';
import { DirectoryAwayError } from './search.ts';
import { type ParsedQuery, parseQuery } from './search-query.ts';
import { SearchAnswerSchema } from './search-schema.ts';

/** GET /companies?q= */
export const searchRoute: ApiRoute = {
  right: 'search',
  path: '/companies',
  query: Type.Object({
    q: Type.String({
      description: 'Company name or NIF; not empty after trimming.',
      pattern: '\\S',
      examples: ['padaria'],
    }),
  }),
  success: SearchAnswerSchema,
  invalid: '`q` is missing or holds only white space.',
  problems: ['validation', 'search-failed'],
  charge: 'search',
  detail: {
    operationId: 'searchCompanies',
    summary: 'Search companies',
    pt: { summary: 'Pesquisar empresas', cost: 'um crédito' },
    description:
      'Finds companies whose normalized legal name begins with the normalized query, or the one with the NIF that the query contains. At most 20 entries; exact matches first, the rest by legal name.',
  },
};

/** The input of a route with a query. */
export interface QueryInput {
  q?: string;
}

/** Searches the directory. */
export function createSearchHandler(search: AnswerQuery<ParsedQuery>): Handler<QueryInput> {
  return {
    quote({ q = '' }) {
      if (q.trim() === '') return single('search', missingQ);
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

const MISSING_Q =
  '`q` is missing or holds only white space. It takes a company name or a NIF, for example: padaria';

/** The answer to a call without a query. */
export const missingQ = (): ProblemAnswer => problem('validation', MISSING_Q, { reason: 'query' });

/** The problem of a search that failed. @throws a fault of this program */
export function searchProblem(cause: unknown): ProblemAnswer {
  const isAway = cause instanceof DirectoryAwayError;
  const away = () => unavailable('The directory is out of reach.', cause);
  return failureAnswer(cause, isAway ? away() : problem('search-failed', undefined, { cause }));
}
