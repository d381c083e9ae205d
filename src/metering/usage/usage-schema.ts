import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { enumeration } from '../../http/enumeration.ts';

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const DateOnly = (description: string) => Type.String({ format: 'date', description });
const Named = <Members extends TProperties>($id: string, members: Members) => Type.Object(members, { $id });

export const UsageAnswerSchema = Type.Object(
  {
    success: Type.Literal(true),
    data: Named('Usage', {
      plan: enumeration(['free', 'plus'], 'Effective plan.'),
      credits: Count('Remaining purchased credits, separate from the included allowance.'),
      left: Count(
        'Credits that the account can still spend: included ones, and purchased ones if it spends them.',
      ),
      key_left: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
        description:
          'Credits that the key of this request can still spend; `null` means that it has no credit limit.',
      }),
      spendPurchased: Type.Boolean({
        description: 'Whether purchased credits pay for calls beyond the included allowance.',
      }),
      price: Type.Optional(
        Named('CreditsPrice', {
          amount: Type.Number({ minimum: 0, description: 'What so many credits cost.' }),
          currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'Of ISO 4217.' }),
          credits: Count('The credits that it buys.'),
        }),
      ),
      resetAt: Type.String({ format: 'date-time', description: 'Next reset of the included credits, UTC.' }),
      rateLimit: Named('RateLimit', {
        limit: Count('Bucket capacity and refill rate, requests per minute.'),
        remaining: Count('Whole tokens remaining after this request.'),
      }),
      period: Named('QuotaPeriod', {
        start: DateOnly('Start date of the quota period.'),
        end: DateOnly('Date of the last instant inside the period.'),
      }),
      quotas: Named('Quotas', {
        requests: Named('RequestQuota', {
          used: Count('Credits consumed in the period, purchased ones included.'),
          limit: Count('Included credit allowance of the period.'),
          unit: Type.Literal('calls'),
        }),
        apiKeys: Named('ApiKeyQuota', {
          used: Count('Keys of the account that are neither revoked nor expired.'),
          limit: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
            description: 'Key quota; `null` means unlimited, as on Plus, which has room for 10,000.',
          }),
          unit: Type.Literal('keys'),
        }),
      }),
    }),
  },
  { $id: 'UsageAnswer' },
);

export type UsageAnswer = Static<typeof UsageAnswerSchema>;
