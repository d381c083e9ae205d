import { Type } from '@sinclair/typebox';
import { problem } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { type ItemList, itemSchema, listRequestSchema } from '../../http/list-schema.ts';
import {
  createListHandler,
  type ItemAnswer,
  type ListInput,
  type ListService,
} from '../../metering/admission/list.ts';
import type { Handler } from '../../metering/admission/quote.ts';
import type { AnswerQuery } from '../search/answer.ts';
import { entriesOf, SearchEntrySchema } from '../search/schema.ts';
import { MAX_IN_LIST } from './matches.ts';
import { type CutWords, MAX_WORDS, type MatchQuery, parseMatchQuery } from './query.ts';
import { answerMatch } from './route.ts';

const QUERIES: ItemList = { list: 'queries', item: 'q', max: 100 };

export const QueryWordsSchema = Type.Object(
  {
    used: Type.Literal(MAX_WORDS),
    sent: Type.Integer({ minimum: MAX_WORDS + 1, description: 'Words of the normalized query.' }),
  },
  {
    $id: 'QueryWords',
    description: `If the query has over ${MAX_WORDS} words: only the first ones were asked.`,
  },
);

const MatchItemSchema = itemSchema(
  QUERIES,
  {
    companies: Type.Array(SearchEntrySchema, { maxItems: MAX_IN_LIST }),
    words: Type.Optional(QueryWordsSchema),
  },
  {
    $id: 'MatchItem',
    problems: ['search-failed'],
    free: ['`service-unavailable` (ask again)'],
  },
);

/** POST /matches (contract: matches) */
export const matchListRoute: ApiRoute = {
  right: 'matches',
  method: 'POST',
  path: '/matches',
  body: listRequestSchema(QUERIES, {
    $id: 'MatchesRequest',
    element: Type.String(),
    form: `a query, such as a company's name, or a NIF. Only the first ${MAX_WORDS} words are asked`,
    example: ['construções gaia', 'A.J. Exemplo Irmãos'],
  }),
  success: Type.Object(
    { data: Type.Array(MatchItemSchema, { description: 'One element a query, in the order asked.' }) },
    { $id: 'MatchesAnswer' },
  ),
  problems: ['validation'],
  charge: 'match',
  cost: 'one credit for each query that gets an answer',
  detail: {
    operationId: 'matchSeveral',
    summary: 'Find the companies of a list of names',
    description: `What up to ${QUERIES.max} queries find by any words of a name, for one rate-limit token: the first ${MAX_IN_LIST} entries of each. If the credits suffice for some queries only, the first ones get them and the others are \`monthly-quota-exceeded\`. A body that is not valid is a \`validation\` that costs one credit.`,
  },
};

/** Finds companies by each of several queries. They are searched once their credits are charged, and equal ones once. */
export function createMatchListHandler(
  answer: AnswerQuery<MatchQuery>,
  parts: ListService,
): Handler<ListInput> {
  return createListHandler({
    ...parts,
    ...QUERIES,
    route: matchListRoute,
    async quote(asked) {
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
