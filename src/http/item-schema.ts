import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { PROBLEM_MEMBERS } from './api-route.ts';

/** The list that a request of several items has. */
export interface ItemList {
  /** The list's member in the body: `nifs`. */
  list: string;
  /** An item's member in the answer that repeats it as it was sent: `nif`. */
  item: string;
  /** Items in a request at most. */
  max: number;
}

/** @param form the form of an item, in words */
export function itemsRequestSchema(
  { list, max }: ItemList,
  { $id, element, form, example }: { $id: string; element: TSchema; form: string; example: string[] },
) {
  return Type.Object(
    {
      [list]: Type.Array(element, {
        minItems: 1,
        maxItems: max,
        description: `1 to ${max}: ${form}. One that is not valid gets its problem in its place.`,
      }),
    },
    { $id, examples: [{ [list]: example }] },
  );
}

const ItemProblemSchema = Type.Object(PROBLEM_MEMBERS, {
  $id: 'ItemProblem',
  additionalProperties: false,
  description: 'A problem of a single item.',
});

/** The problem of one item. */
export type ItemProblem = Static<typeof ItemProblemSchema>;

/**
 * An item of the answer: what was found, or a problem.
 * @param found the members that an item has beside its own text and its status
 * @param free the problems that cost nothing, in words
 */
export function itemSchema(
  { item }: ItemList,
  found: Record<string, TSchema>,
  { $id, free }: { $id: string; free: string },
) {
  const asked = { [item]: Type.String({ description: 'The text as it was sent.' }) };
  return Type.Union(
    [
      Type.Object(
        { ...asked, status: Type.Literal(200), ...found },
        { additionalProperties: false, description: 'Costs one credit.' },
      ),
      Type.Object(
        { ...asked, status: Type.Integer({ minimum: 400 }), problem: ItemProblemSchema },
        { additionalProperties: false, description: `Costs one credit, except ${free}.` },
      ),
    ],
    { $id },
  );
}
