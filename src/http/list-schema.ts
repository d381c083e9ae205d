import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { PROBLEM_MEMBERS, UNPAID } from './api-route.ts';
import { PROBLEMS, type ProblemName } from './problems.ts';

/** The list that a request of several items has. */
export interface ItemList {
  /** The list's member in the body: `nifs`. */
  list: string;
  /** An item's member in the answer that repeats it as it was sent: `nif`. */
  item: string;
  /** Items in a request at most. */
  max: number;
}

interface ListRequest {
  $id: string;
  element: TSchema;
  /** The form of an item, in words. */
  form: string;
  example: string[];
  /** Members beside the list, each with its own example. */
  more?: Record<string, TSchema>;
}

export function listRequestSchema(
  { list, max }: ItemList,
  { $id, element, form, example, more = {} }: ListRequest,
) {
  return Type.Object(
    {
      [list]: Type.Array(element, {
        minItems: 1,
        maxItems: max,
        description: `A list of 1 to ${max}: ${form}. One that is not valid gets its problem in its place.`,
      }),
      ...more,
    },
    { $id, additionalProperties: false, examples: [{ [list]: example }] },
  );
}

const ItemProblemSchema = Type.Object(
  {
    ...PROBLEM_MEMBERS,
    retryAfter: Type.Optional(
      Type.Integer({ minimum: 1, description: 'In `service-unavailable`: seconds to wait.' }),
    ),
  },
  { $id: 'ItemProblem', description: 'A problem of a single item.' },
);

/** Problems that an item of every list can have. */
export const OF_EVERY_ITEM: ProblemName[] = [
  'validation',
  ...UNPAID,
  'service-unavailable',
  'internal-error',
];

const UNPAID_ITEMS =
  '`monthly-quota-exceeded`, `key-budget-exceeded` and `key-budget-spent` (the credits did not suffice for this item)';

/** The problem of one item. */
export type ItemProblem = Static<typeof ItemProblemSchema>;

/**
 * An item of the answer: what was found, or a problem. The two are told apart by `status`.
 * @param found the members that an item has beside its own text and its status
 * @param problems those that an item has beside the ones of every item
 * @param free the problems that cost nothing beside {@link UNPAID}, in words
 * @param cost of an item that was found, in words
 */
export function itemSchema(
  { item }: ItemList,
  found: Record<string, TSchema>,
  {
    $id,
    problems,
    free,
    cost = 'Costs one credit.',
  }: { $id: string; problems: ProblemName[]; free: string[]; cost?: string },
) {
  const kinds = [...OF_EVERY_ITEM, ...problems];
  const statuses = [...new Set(kinds.map((kind) => PROBLEMS[kind].status))].sort();
  const asked = { [item]: Type.String({ description: 'The text as it was sent.' }) };
  return Type.Union(
    [
      Type.Object(
        { ...asked, status: Type.Literal(200), ...found },
        { $id: `${$id}Found`, description: cost },
      ),
      Type.Object(
        {
          ...asked,
          status: Type.Unsafe<number>({ type: 'integer', enum: statuses }),
          problem: ItemProblemSchema,
        },
        {
          $id: `${$id}Failed`,
          description: `Costs one credit, except ${[UNPAID_ITEMS, ...free].join(' and ')}.`,
        },
      ),
    ],
    { $id },
  );
}
