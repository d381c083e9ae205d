import { ok } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import type { Price } from '../../platform/config/environment.ts';
import { utcDay } from '../../platform/dates.ts';
import { creditsLeft } from '../accounts/account-store.ts';
import type { ReadAccount } from '../accounts/reader.ts';
import { freeHandler, type Handler } from '../admission/quote.ts';
import { budgetCreditsLeft } from '../keys/limits.ts';
import type { ReadKey } from './key-route.ts';
import { type UsageAnswer, UsageAnswerSchema } from './usage-schema.ts';

/** GET /usage */
export const usageRoute: ApiRoute = {
  right: 'usage',
  path: '/usage',
  success: UsageAnswerSchema,
  exampleAnswer: {
    success: true,
    data: {
      plan: 'free',
      credits: 0,
      left: 500,
      key_left: null,
      spendPurchased: true,
      resetAt: '2026-12-01T00:00:00.000Z',
      rateLimit: { limit: 20, remaining: 19 },
      period: { start: '2026-11-01', end: '2026-11-30' },
      quotas: {
        requests: { used: 0, limit: 500, unit: 'calls' },
        apiKeys: { used: 1, limit: 2, unit: 'keys' },
      },
    },
  } satisfies UsageAnswer,
  problems: [],
  charge: null,
  detail: {
    operationId: 'getUsage',
    summary: 'Get usage',
    pt: { summary: 'Consultar a utilização', cost: 'nenhum crédito' },
    description:
      "Reports the account's plan, credits, period, keys and bucket. Costs a rate-limit token and no credit, and works when the credits are used up.",
  },
};

/** Reports the account as it stands after this request's admission, and what its key can still spend of its budget. */
export function createUsageHandler(parts: {
  readAccount: ReadAccount;
  readKey: ReadKey;
  price?: Price | undefined;
}): Handler {
  return freeHandler('The usage of the account could not be read.', async ({ caller, rate }) => {
    const [account, key] = await Promise.all([
      parts.readAccount(caller.accountId),
      caller.budget === null ? null : parts.readKey(caller.keyId),
    ]);
    const { limit, remaining } = rate.account ?? rate;
    const lastInstant = new Date(account.period.end.getTime() - 1);
    return ok<UsageAnswer>({
      success: true,
      data: {
        plan: account.plan,
        credits: account.credits,
        left: creditsLeft(account),
        key_left: key?.budget ? budgetCreditsLeft(key.budget) : null,
        spendPurchased: account.spendPurchased,
        ...(parts.price && { price: parts.price }),
        resetAt: account.period.end.toISOString(),
        rateLimit: { limit, remaining },
        period: { start: utcDay(account.period.start), end: utcDay(lastInstant) },
        quotas: {
          requests: { used: account.used, limit: account.includedCredits, unit: 'calls' },
          // The specification calls the keys of Plus unlimited. Its room is a bound of ours (docs/members.md: keys).
          apiKeys: {
            used: account.keys,
            limit: account.plan === 'plus' ? null : account.keyLimit,
            unit: 'keys',
          },
        },
      },
    });
  });
}
