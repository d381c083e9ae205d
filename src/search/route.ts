import type { Handler } from '../admission/chain.ts';
import { isBug } from '../errors.ts';
import { type Answer, failure, written } from '../http/answer.ts';
import type { Operation } from '../http/operation.ts';
import { searchOf } from '../http/url.ts';
import type { AnswerSearch } from './answer.ts';
import { parseQuery } from './query.ts';
import { SearchAnswerSchema } from './schema.ts';

/** GET /companies?q= */
export const searchOperation: Operation = {
  path: '/companies',
  id: 'searchCompanies',
  summary: 'Search companies',
  description:
    'Finds companies whose normalized legal name begins with the normalized query, or the one with the NIF that the query contains. At most 20 entries; exact matches first, the rest by legal name.',
  charge: 'search',
  parameters: [
    {
      name: 'q',
      in: 'query',
      description: 'Company name or NIF; not empty after trimming.',
      schema: { type: 'string', pattern: '\\S' },
      example: 'abaco',
    },
  ],
  success: SearchAnswerSchema,
  problems: ['validation', 'search-failed'],
};

/** Searches the directory for `q`; the first one where it is repeated. */
export function createSearchHandler(search: AnswerSearch): Handler {
  return (request) =>
    async ({ directoryIndex }): Promise<Answer> => {
      // Malformed escapes are taken as they stand: a search for them finds nothing, and harms nothing.
      const q = new URLSearchParams(searchOf(request.url)).get('q');
      if (q === null || q.trim() === '') {
        return failure('validation', 'The query parameter `q` is missing or holds only white space.');
      }
      try {
        return written(await search(parseQuery(q), directoryIndex));
      } catch (cause) {
        if (isBug(cause)) throw cause;
        return failure('search-failed', undefined, { cause });
      }
    };
}
