import { Type } from '@sinclair/typebox';
import { problem } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { type ItemList, itemSchema, itemsRequestSchema } from '../../http/item-schema.ts';
import { createItemsHandler, type ItemAnswer, type ItemsParts } from '../../metering/admission/items.ts';
import type { Handler } from '../../metering/admission/plan.ts';
import type { AnswerQuery } from '../search/answer.ts';
import { entriesOf, SearchEntrySchema } from '../search/schema.ts';
import { MAX_OF_SEVERAL } from './matches.ts';
import { type CutWords, MAX_WORDS, type MatchQuery, parseMatchQuery } from './query.ts';
import { answerMatch, EXAMPLE_MATCH } from './route.ts';

const QUERIES: ItemList = { list: 'queries', item: 'q', max: 100 };

const MatchItemSchema = itemSchema(
  QUERIES,
  {
    companies: Type.Array(SearchEntrySchema, { maxItems: MAX_OF_SEVERAL }),
    words: Type.Optional(
      Type.Object(
        { used: Type.Literal(MAX_WORDS), sent: Type.Integer({ minimum: MAX_WORDS + 1 }) },
        {
          $id: 'QueryWords',
          description: `If the query has over ${MAX_WORDS} words: only the first ones were asked.`,
        },
      ),
    ),
  },
  {
    $id: 'MatchItem',
    problems: ['search-failed'],
    free: '`monthly-quota-exceeded` (the credits did not suffice for this item) and `service-unavailable` (ask again)',
  },
);

/** POST /matches (contract: matches) */
export const matchesOfSeveralRoute: ApiRoute = {
  method: 'POST',
  path: '/matches',
  body: itemsRequestSchema(QUERIES, {
    $id: 'MatchesRequest',
    element: Type.String(),
    form: `a query, such as a company's name, or a NIF. Only the first ${MAX_WORDS} words are asked`,
    example: ['construções gaia', 'A.J. Costa Irmãos'],
  }),
  success: Type.Object(
    { data: Type.Array(MatchItemSchema, { description: 'One element a query, in the order asked.' }) },
    { $id: 'MatchesAnswer' },
  ),
  exampleAnswer: () => ({
    data: [
      { q: 'construções gaia', status: 200, companies: [EXAMPLE_MATCH] },
      {
        q: 'A.J. Costa Irmãos',
        status: 200,
        companies: [{ ...EXAMPLE_MATCH, nif: '500002576', legal_name: 'A.J.COSTA (IRMÃOS), LDA.' }],
      },
    ],
  }),
  problems: ['validation'],
  charge: 'match',
  cost: 'one credit for each query that gets an answer',
  detail: {
    operationId: 'matchSeveral',
    summary: 'Find the companies of a list of names',
    description: `What up to ${QUERIES.max} queries find by any words of a name, for one rate-limit token: the first ${MAX_OF_SEVERAL} entries of each. If the credits suffice for some queries only, the first ones get them and the others are \`monthly-quota-exceeded\`. A body that is not valid is a \`validation\` that costs one credit.`,
  },
};

/** Finds companies by each of several queries. They are searched once their credits are spent, and equal ones once. */
export function createMatchSeveralHandler(
  answer: AnswerQuery<MatchQuery>,
  parts: Pick<ItemsParts, 'publicUrl' | 'stopping'>,
): Handler {
  return createItemsHandler({
    ...parts,
    ...QUERIES,
    route: matchesOfSeveralRoute,
    async plan(asked) {
      const answers = new Map<string, Promise<ItemAnswer>>();
      const answerOnce = (q: string) => {
        const query = parseMatchQuery(q);
        const key = JSON.stringify(query);
        const once = answers.get(key) ?? answerMatch(query, answer).then((found) => itemOf(found, query.cut));
        answers.set(key, once);
        return once;
      };
      const answerItem = (q: string) => (q.trim() === '' ? problem('validation', BLANK) : answerOnce(q));
      return { items: asked.map((q) => ({ asked: q, isCharged: true, answer: () => answerItem(q) })) };
    },
  });
}

const BLANK = 'The query holds only white space.';

function itemOf(found: Awaited<ReturnType<typeof answerMatch>>, words: CutWords | undefined): ItemAnswer {
  if (!found.ok) return found;
  const member = words === undefined ? '' : `,"words":${JSON.stringify(words)}`;
  return { ok: true, json: `"companies":${entriesOf(found.json)}${member}` };
}
