import { Type } from '@sinclair/typebox';
import { okJson } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import type { Handler } from '../../metering/admission/quote.ts';
import type { AnswerQuery } from '../search/answer.ts';
import { type QueryInput, queryHandler } from '../search/search-route.ts';
import { SearchAnswerSchema } from '../search/search-schema.ts';
import { MAX_WORDS, type MatchQuery, parseMatchQuery } from './matches-query.ts';

/** GET /matches?q= (docs/api.md: by any words) */
export const matchesRoute: ApiRoute = {
  right: 'matches',
  path: '/matches',
  query: Type.Object({
    q: Type.String({
      description: `Words of a company's name, or a NIF; not empty after trimming. Only the first ${MAX_WORDS} words are asked.`,
      pattern: '\\S',
      examples: ['construções gaia'],
    }),
  }),
  success: SearchAnswerSchema,
  optionalHeaders: {
    'X-Query-Words': `\`${MAX_WORDS} of N\`, if the query has over ${MAX_WORDS} words: only the first ones were asked.`,
  },
  invalid: '`q` is missing or holds only white space.',
  problems: ['validation', 'search-failed'],
  charge: 'match',
  detail: {
    operationId: 'matchCompanies',
    summary: 'Find companies by any words of their names',
    pt: { summary: 'Encontrar empresas por palavras do nome', cost: 'um crédito' },
    description:
      'Finds companies whose normalized legal name has every word of the normalized query, the last one as the beginning of a word, or the one with the NIF that the query contains. At most 20 entries: names that begin with the query, then names that have all words whole, then the rest; each by legal name.',
  },
};

/** Finds companies by words. */
export const createMatchHandler = ({ match }: { match: AnswerQuery<MatchQuery> }): Handler<QueryInput> =>
  queryHandler('match', async (q) => {
    const { sent, ...query } = parseMatchQuery(q);
    const headers = sent === undefined ? sent : { 'X-Query-Words': `${MAX_WORDS} of ${sent}` };
    return okJson(await match(query), headers);
  });
