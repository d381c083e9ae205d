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
import type { CallKind } from '../../http/call-kind.ts';
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

/** Searches the directory. */
export const createSearchHandler = ({ search }: { search: AnswerQuery<ParsedQuery> }): Handler<QueryInput> =>
  queryHandler('search', async (q) => okJson(await search(parseQuery(q))));

/** The input of a route with a query. */
export interface QueryInput {
  q?: string;
}

const MISSING_Q =
  '`q` is missing or holds only white space. It takes a company name or a NIF, for example: padaria';

/** A handler of calls with a query. @param answer answers a query that is not blank. Its failure is a {@link searchProblem} */
export const queryHandler = (
  kind: CallKind,
  answer: (q: string) => Promise<Answer>,
): Handler<QueryInput> => ({
  quote({ q = '' }) {
    if (q.trim() === '') return single(kind, () => problem('validation', MISSING_Q, { reason: 'query' }));
    return { ...single(kind, () => answer(q).catch(searchProblem)), isSearch: true };
  },
});

/** The problem of a search that failed. @throws a fault of this program */
export function searchProblem(cause: unknown): ProblemAnswer {
  const isAway = cause instanceof DirectoryAwayError;
  const away = () => unavailable('The directory is out of reach.', cause);
  return failureAnswer(cause, isAway ? away() : problem('search-failed', undefined, { cause }));
}
