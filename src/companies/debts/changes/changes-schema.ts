import { type Static, Type } from '@sinclair/typebox';
import { enumeration } from '../../../http/enumeration.ts';
import { ListedNifSchema, NIF_FORM } from '../../nif-parameter.ts';
import { AmountsSchema } from '../bracket.ts';
import { API_KINDS } from '../kind.ts';
import { CHANGES } from './changes-feed.ts';
import { KEPT_DAYS } from './changes-purge.ts';

/** Companies whose changes one request asks for at most. */
const MAX_NIFS = 1000;

const KINDS = Object.values(API_KINDS);
const Kind = enumeration(KINDS, 'The list: of the tax authority, or of social security.');

export const DebtChangesRequestSchema = Type.Object(
  {
    after: Type.Union([CHANGES.Cursor(''), Type.Null()], {
      description: `The \`next\` of an earlier answer: the changes since then. \`null\` means from the oldest on that is kept (${KEPT_DAYS} days).`,
    }),
    nifs: Type.Optional(
      Type.Array(ListedNifSchema, {
        minItems: 1,
        maxItems: MAX_NIFS,
        description: `Of these companies alone: a list of 1 to ${MAX_NIFS}, each ${NIF_FORM}. Without this member: of all.`,
      }),
    ),
    kinds: Type.Optional(
      Type.Array(Kind, {
        minItems: 1,
        maxItems: KINDS.length,
        description: `Of these lists alone: ${KINDS.map((kind) => `\`${kind}\``).join(' or ')}. Without this member: of both.`,
      }),
    ),
  },
  {
    $id: 'DebtChangesRequest',
    additionalProperties: false,
    examples: [{ after: null, nifs: ['599910054'], kinds: ['social_security'] }],
  },
);

const DebtAmountsSchema = Type.Object(AmountsSchema, { $id: 'DebtAmounts' });
const AmountsOrNull = (description: string) => Type.Union([DebtAmountsSchema, Type.Null()], { description });

const DebtChangeSchema = Type.Object(
  {
    id: CHANGES.id,
    at: Type.String({ format: 'date-time', description: 'When the dataset was imported, UTC.' }),
    kind: Kind,
    nif: Type.String({ pattern: '^[0-9]{9}$', description: 'Nine digits.' }),
    change: enumeration(
      ['appeared', 'changed', 'ended'],
      '`ended` means that the company is no longer on the list of that date. It does not say that the debt was paid.',
    ),
    before: AmountsOrNull('The bracket before; `null` means that the company was not on the list.'),
    after: AmountsOrNull('The bracket since then; `null` means that the company is no longer on the list.'),
    date: Type.String({ format: 'date', description: 'Date of the dataset that the change came with.' }),
  },
  { $id: 'DebtChange' },
);

export const DebtChangesAnswerSchema = CHANGES.answerSchema(DebtChangeSchema, 'DebtChangesAnswer');

export type DebtChange = Static<typeof DebtChangeSchema>;
