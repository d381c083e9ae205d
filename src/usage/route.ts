import { type AccountDetails, detailsOf, findAccountsQuery } from '../accounts/store.ts';
import type { Handler } from '../admission/chain.ts';
import { createBatcher } from '../batch.ts';
import { within } from '../deadline.ts';
import { type Answer, failure, success } from '../http/answer.ts';
import type { Operation } from '../http/operation.ts';
import type { Log } from '../observability/log.ts';
import type { Sql } from '../postgres/connect.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';
import { SECOND } from '../units.ts';
import { type UsageAnswer, UsageAnswerSchema } from './schema.ts';

/** GET /usage */
export const usageOperation: Operation = {
  path: '/usage',
  id: 'getUsage',
  summary: 'Get usage',
  description:
    "Reports the account's plan, credits, period, keys and bucket. Costs a rate-limit token and no credit, and works when the credits are used up.",
  charge: null,
  parameters: [],
  success: UsageAnswerSchema,
  problems: [],
};

const QUERY_TIMEOUT_MS = 2 * SECOND;
/** Two at a time, so that a connection that is gone without a word doesn't hold up everybody. */
const BATCHES = {
  maxBatch: 500,
  maxRuns: 2,
  maxWaiting: 20_000,
  timeoutMs: QUERY_TIMEOUT_MS,
  what: 'Postgres',
};

/** @param instant for tests: the instant to report at; absent: Postgres's clock */
export function createUsageHandler(sql: Sql, log: Log, instant?: () => Date): Handler {
  const ask = createBatcher(async (ids: string[]) => {
    const query = findAccountsQuery(sql, [...new Set(ids)], instant?.());
    const rows = await within(query, QUERY_TIMEOUT_MS, 'Postgres');
    const accounts = new Map(rows.map((row) => [row.id, detailsOf(row)]));
    return ids.map((id) => accounts.get(id) ?? null);
  }, BATCHES);

  return () =>
    async ({ caller, rate }): Promise<Answer> => {
      try {
        const account = await ask(caller.accountId);
        if (account === null) throw new Error('the account is gone');
        return success<UsageAnswer>(presentUsage(account, rate));
      } catch (error) {
        log.warn({ err: error }, 'usage could not be read');
        return failure('service-unavailable', 'The usage of the account could not be read.', {
          headers: { 'Retry-After': '1' },
        });
      }
    };
}

/** The usage object of the specification. */
export function presentUsage(
  account: AccountDetails,
  rate: Pick<RateDecision, 'limit' | 'remaining'>,
): UsageAnswer {
  const lastInstant = new Date(account.period.end.getTime() - 1);
  return {
    success: true,
    data: {
      plan: account.plan,
      credits: account.credits,
      resetAt: account.period.end.toISOString(),
      rateLimit: { limit: rate.limit, remaining: rate.remaining },
      period: { start: dateOf(account.period.start), end: dateOf(lastInstant) },
      quotas: {
        requests: { used: account.used, limit: account.includedCredits, unit: 'calls' },
        apiKeys: { used: account.keys, limit: account.keyLimit, unit: 'keys' },
      },
    },
  };
}

function dateOf(instant: Date): string {
  return instant.toISOString().slice(0, 10);
}
