import { type Static, Type } from '@sinclair/typebox';
import { CompanySchema, NIF_PATTERN } from './schema.ts';

/** NIFs in one request (contract, Beyond the specification). */
export const MAX_NIFS = 100;

export const LookupsRequestSchema = Type.Object(
  {
    nifs: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: MAX_NIFS,
      description: `1 to ${MAX_NIFS} NIFs: nine digits with a right check digit; spaces, hyphens and periods may separate them (\`${NIF_PATTERN}\`). One that is not valid gets its problem in its place.`,
    }),
  },
  { $id: 'LookupsRequest', examples: [{ nifs: ['500002576', '500002577'] }] },
);

const nif = Type.String({ description: 'The NIF as it was asked for.' });

const ItemProblemSchema = Type.Object(
  {
    type: Type.String({ format: 'uri' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
  },
  { $id: 'ItemProblem', additionalProperties: false, description: 'A problem of a single lookup.' },
);

const LookupItemSchema = Type.Union(
  [
    Type.Object(
      { nif, status: Type.Literal(200), company: CompanySchema },
      { additionalProperties: false, description: 'Costs one credit.' },
    ),
    Type.Object(
      { nif, status: Type.Integer({ minimum: 400 }), problem: ItemProblemSchema },
      {
        additionalProperties: false,
        description:
          'Costs one credit, except `monthly-quota-exceeded` (the credits did not suffice for this item) and `service-unavailable` (the request refreshes too many other companies, so ask again; or refreshes are used up).',
      },
    ),
  ],
  { $id: 'LookupItem' },
);

export const LookupsAnswerSchema = Type.Object(
  { data: Type.Array(LookupItemSchema, { description: 'One element a NIF, in the order asked.' }) },
  { $id: 'LookupsAnswer', additionalProperties: false },
);

/** The problem of one item. */
export type ItemProblem = Static<typeof ItemProblemSchema>;
