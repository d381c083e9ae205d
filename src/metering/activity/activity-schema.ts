import { type Static, Type } from '@sinclair/typebox';
import { enumeration } from '../../http/enumeration.ts';
import { defineFeed } from '../../http/feed.ts';
import { REASONS } from '../../http/problems.ts';

/** The activity of accounts, in pages of at most 1,000 rows. */
export const ACTIVITY = defineFeed({
  prefix: 'act',
  example: 1795168805000004,
  row: 'row',
  begin: '. Leave it out to begin.',
  expired: 'activity-expired',
  pageRows: 1000,
});

const Nullable = <T extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(
  schema: T,
  description: string,
) => Type.Union([schema, Type.Null()], { description });

const ActivityRowSchema = Type.Object(
  {
    id: ACTIVITY.id,
    at: Type.String({
      format: 'date-time',
      description:
        'When the call was charged, also in the row of a return; of an answer, when it was given. UTC.',
    }),
    call: Nullable(
      Type.String(),
      'Our id of the call: its rows have the same one. `null` in a row with `unlisted`.',
    ),
    request: Nullable(
      Type.String(),
      'The `X-Request-Id` of its answer, which is the one that you sent, if you did; otherwise `call`.',
    ),
    kind: enumeration(
      ['charge', 'return', 'answer'],
      '`charge`: the call cost credits. `return`: some came back. `answer`: the answer was a problem or refused, or repeated an earlier one.',
    ),
    key: Nullable(Type.String(), 'The id of the key; `null` means that the call was made in the dashboard.'),
    endpoint: Nullable(Type.String(), 'Method and path of the endpoint, or the name of the tool.'),
    status: Nullable(Type.Integer(), "The answer's status, in an `answer`."),
    problem: Nullable(
      Type.String(),
      'The kind of problem, in an `answer`; with a status of 200 it is that of an item. `null` means a repetition with the same `Idempotency-Key`.',
    ),
    reason: Nullable(
      Type.String(),
      `Why, if the problem leaves that open. More may come. ${Object.entries(REASONS)
        .map(([name, [text]]) => `\`${name}\`: ${text}`)
        .join(' ')}`,
    ),
    credits: Type.Integer({
      description: 'Credits that the row cost: negative in a `return`, 0 in an `answer`.',
    }),
    unlisted: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'The row stands for so many further answers of the same seconds, which have no row.',
      }),
    ),
  },
  { $id: 'ActivityRow' },
);

export type ListedRow = Static<typeof ActivityRowSchema>;

export const ActivityAnswerSchema = ACTIVITY.answerSchema(ActivityRowSchema, 'ActivityAnswer');
