import type { Caller } from '../../metering/keys/authenticate.ts';
import { utcDay } from '../../platform/dates.ts';
import type { Log } from '../../platform/observability/log.ts';
import { answerOf } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';

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

export type RefreshBounds = ReturnType<typeof createRefreshBounds>;

/**
 * The bounds of refreshes, by Postgres's clock.
 * @param allPerDay `REFRESHES_PER_DAY`, of which Free accounts get half; `null` means no bound
 * @param log gets a warning, once a day over all instances, when half of that is used up
 */
export function createRefreshBounds(sql: Sql, allPerDay: number | null, log: Pick<Log, 'warn'>) {
  let last = { day: '', refreshes: 0 };
  const counted = () => (last.day === utcDay(Date.now()) ? last.refreshes : 0);

  return {
    /**
     * Takes one refresh from every bound that counts for the account, for all instances together.
     * @throws RefreshesUsedUpError when one of them is used up; then nothing was taken
     */
    async take({ accountId, plan, requestsPerMinute }: Payer): Promise<void> {
      const isFree = plan === 'free';
      const accountPerDay = requestsPerMinute * DAILY_REFRESHES_PER_REQUEST;
      const accountPerMinute = isFree ? Math.ceil(requestsPerMinute * FREE_REFRESHES_PER_REQUEST) : null;
      const freePerDay = isFree && allPerDay !== null ? Math.floor(allPerDay / 2) : null;
      const query = sql<{ refused: RefreshBound | null; roomAt: Date; waitS: number; today: number }[]>`
        SELECT refused, room_at AS "roomAt", ceil(extract(epoch FROM room_at - now()))::integer AS "waitS", today
        FROM take_refresh(${accountId}, ${accountPerDay}, ${accountPerMinute}, ${allPerDay}, ${freePerDay}, ${isFree})`;
      const [taken] = await answerOf(query);
      const { refused, roomAt, waitS, today } = taken!;
      if (refused !== null) throw new RefreshesUsedUpError(refused, roomAt, Math.max(1, waitS));
      // Answers may come in another order than their refreshes were taken in.
      last = { day: utcDay(Date.now()), refreshes: Math.max(counted(), today) };
      // One instance takes this very refresh.
      if (allPerDay !== null && today === Math.floor(allPerDay / 2)) {
        log.warn({ refreshes: today, of: allPerDay }, 'half of the refreshes of the day are used up');
      }
    },
    /** Refreshes of all accounts on this day, as this process last took one. */
    today: counted,
  };
}
