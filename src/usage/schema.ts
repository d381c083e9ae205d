import { type Static, type TProperties, Type } from '@sinclair/typebox';

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const DateOnly = (description: string) => Type.String({ format: 'date', description });
/** An object without other members. */
const Closed = <Members extends TProperties>(members: Members) =>
  Type.Object(members, { additionalProperties: false });

export const UsageAnswerSchema = Type.Object(
  {
    success: Type.Literal(true),
    data: Closed({
      plan: Type.Union([Type.Literal('free'), Type.Literal('plus')], { description: 'Effective plan.' }),
      credits: Count('Remaining purchased credits, separate from the included allowance.'),
      resetAt: Type.String({ format: 'date-time', description: 'Next reset of the included credits, UTC.' }),
      rateLimit: Closed({
        limit: Count('Bucket capacity and refill rate, requests per minute.'),
        remaining: Count('Whole tokens remaining after this request.'),
      }),
      period: Closed({
        start: DateOnly('Start date of the quota period.'),
        end: DateOnly('Date of the last instant inside the period.'),
      }),
      quotas: Closed({
        requests: Closed({
          used: Count('Credits consumed in the period, purchased ones included.'),
          limit: Count('Included credit allowance of the period.'),
          unit: Type.Literal('calls'),
        }),
        apiKeys: Closed({
          used: Count('Keys of the account that are neither revoked nor expired.'),
          limit: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
            description: 'Key quota; `null` means unlimited, as on Plus, which has room for 10,000.',
          }),
          unit: Type.Literal('keys'),
        }),
      }),
    }),
  },
  { $id: 'UsageAnswer', additionalProperties: false },
);

export type UsageAnswer = Static<typeof UsageAnswerSchema>;
