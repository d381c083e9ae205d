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
export type RefreshBound = 'account-day' | 'account-minute' | 'all-day' | 'free-day';

/** A refresh was refused because a bound is used up. */
export class RefreshesUsedUpError extends Error {
  /** As logs have it. Operators know a bound as a budget, from logs and metrics. */
  override readonly name = 'OverBudgetError';

  constructor(
    readonly bound: RefreshBound,
    /** When the bound has room again. */
    readonly roomAt: Date,
    /** Whole seconds until then, at least 1. */
    readonly retryAfterS: number,
  ) {
    super(`the refreshes are used up: ${bound}`);
  }
}

/** A refusal that this process remembers until the bound has room again. */
interface Remembered {
  bound: RefreshBound;
  /** The bound that was used up. An account whose limits have changed since has another one. */
  limit: number | null;
  roomAt: Date;
  /** By `performance.now()`. */
  untilMs: number;
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
  const remembered = new Map<string, Remembered>();

  function limitsOf({ plan, requestsPerMinute }: Payer): Record<RefreshBound, number | null> {
    const isFree = plan === 'free';
    return {
      'account-day': requestsPerMinute * DAILY_REFRESHES_PER_REQUEST,
      'account-minute': isFree ? Math.ceil(requestsPerMinute * FREE_REFRESHES_PER_REQUEST) : null,
      'all-day': allPerDay,
      'free-day': isFree && allPerDay !== null ? Math.floor(allPerDay / 2) : null,
    };
  }

  function refusal({ bound, roomAt, untilMs }: Remembered): RefreshesUsedUpError {
    const waitS = Math.ceil((untilMs - performance.now()) / SECOND);
    return new RefreshesUsedUpError(bound, roomAt, Math.max(1, waitS));
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
        const refused = { bound, roomAt, limit: limits[bound], untilMs: askedMs + waitMs };
        if (remembered.size >= MAX_REMEMBERED) remembered.clear();
        remembered.set(bound.startsWith('account') ? accountId : bound, refused);
        throw refusal(refused);
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
        else if (found.limit === limitsOf(payer)[found.bound]) return refusal(found);
      }
      return null;
    },
    /** Refreshes of all accounts on this day, as this process last took one. */
    today: counted,
  };
}
