import type { Caller } from '../../metering/keys/authenticate.ts';
import { utcDay } from '../../platform/dates.ts';
import type { Log } from '../../platform/observability/log.ts';
import { answerOf } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { SECOND } from '../../platform/units.ts';

/**
 * Refreshes that an account may cause on a day (UTC) for each request a minute of its limit: 200 for the Free plan, 600
 * for Plus. The providers' quotas are shared by all accounts, and one account must not use them up.
 */
const DAILY_REFRESHES_PER_REQUEST = 10;
/** Refreshes that a Free account may cause in a minute for each request a minute of its limit: 10 for the plan's 20. */
const FREE_REFRESHES_PER_REQUEST = 0.5;

/** The account that causes a refresh. */
export type Payer = Pick<Caller, 'accountId' | 'plan' | 'requestsPerMinute'>;

/** A bound of refreshes: of one account, of all accounts together (`REFRESHES_PER_DAY`), or of all Free accounts. */
export const REFRESH_BOUNDS = ['account-day', 'account-minute', 'all-day', 'free-day'] as const;
export type RefreshBound = (typeof REFRESH_BOUNDS)[number];

/** A refresh was refused because a bound is used up. The process remembers it until the bound has room again. */
export class RefreshesUsedUpError extends Error {
  override readonly name = 'RefreshesUsedUpError';

  constructor(
    readonly bound: RefreshBound,
    /** The refreshes that the bound allowed. The refusal counts only for accounts with this limit. */
    readonly limit: number | null,
    /** When the bound has room again, by Postgres's clock, and by `performance.now()`. */
    readonly roomAt: Date,
    readonly untilMs: number,
  ) {
    super(`the refreshes are used up: ${bound}`);
  }

  /** Whole seconds until there is room, at least 1. */
  get retryAfterS(): number {
    return Math.max(1, Math.ceil((this.untilMs - performance.now()) / SECOND));
  }
}

/** Beyond so many refusals all are forgotten, which costs a charge and its refund for each lookup that meets the bound again. */
const MAX_REMEMBERED = 10_000;

export type RefreshBounds = ReturnType<typeof createRefreshBounds>;

/**
 * The bounds of refreshes, by Postgres's clock.
 * @param allPerDay `REFRESHES_PER_DAY`, of which Free accounts get half; `null` means no bound
 * @param log gets a warning, once a day over all instances, when half of that is used up
 */
export function createRefreshBounds(sql: Sql, allPerDay: number | null, log: Pick<Log, 'warn'>) {
  let last = { day: '', refreshes: 0 };
  const counted = () => (last.day === utcDay(Date.now()) ? last.refreshes : 0);

  /** By account, or by a bound of all. */
  const remembered = new Map<string, RefreshesUsedUpError>();

  function limitsOf({ plan, requestsPerMinute }: Payer): Record<RefreshBound, number | null> {
    const isFree = plan === 'free';
    return {
      'account-day': requestsPerMinute * DAILY_REFRESHES_PER_REQUEST,
      'account-minute': isFree ? Math.ceil(requestsPerMinute * FREE_REFRESHES_PER_REQUEST) : null,
      'all-day': allPerDay,
      'free-day': isFree && allPerDay !== null ? Math.floor(allPerDay / 2) : null,
    };
  }

  return {
    /**
     * Takes one refresh from every bound that counts for the account, for all instances together.
     * @throws RefreshesUsedUpError when one of them is used up; then nothing was taken
     */
    async take(payer: Payer): Promise<void> {
      const { accountId, plan } = payer;
      const limits = limitsOf(payer);
      const askedMs = performance.now();
      const query = sql<{ bound: RefreshBound | null; roomAt: Date; waitMs: number; today: number }[]>`
        SELECT refused AS bound, room_at AS "roomAt", 1000 * extract(epoch FROM room_at - now())::float8 AS "waitMs", today
        FROM take_refresh(${accountId}, ${limits['account-day']}, ${limits['account-minute']}, ${limits['all-day']},
          ${limits['free-day']}, ${plan === 'free'})`;
      const [taken] = await answerOf(query);
      const { bound, roomAt, waitMs, today } = taken!;
      if (bound !== null) {
        const refusal = new RefreshesUsedUpError(bound, limits[bound], roomAt, askedMs + waitMs);
        if (remembered.size >= MAX_REMEMBERED) remembered.clear();
        remembered.set(bound.startsWith('account') ? accountId : bound, refusal);
        throw refusal;
      }
      // Answers may come in another order than their refreshes were taken in.
      last = { day: utcDay(Date.now()), refreshes: Math.max(counted(), today) };
      // One instance takes this very refresh.
      if (allPerDay !== null && today === Math.floor(allPerDay / 2)) {
        log.warn({ refreshes: today, of: allPerDay }, 'half of the refreshes of the day are used up');
      }
    },
    /** The refusal that a refresh of the account would meet, as far as this process knows; it asks nobody, and takes nothing. */
    known(payer: Payer): RefreshesUsedUpError | null {
      for (const key of [payer.accountId, 'all-day', 'free-day']) {
        const found = remembered.get(key);
        if (found === undefined) continue;
        if (found.untilMs <= performance.now()) remembered.delete(key);
        else if (found.limit === limitsOf(payer)[found.bound]) return found;
      }
      return null;
    },
    /** Refreshes of all accounts on this day, as this process last took one. */
    today: counted,
  };
}
