/**
 * Lookup of one company: `lookup-store.ts` reads and writes records, `refresh.ts` asks the sources, `lease.ts` makes sure that one instance
 * refreshes a NIF at a time. `lookup-list.ts` looks up many at once. A refreshed record is stored before it is answered.
 */
import { failureAnswer, type ProblemAnswer, problem, unavailable } from '../../http/answer.ts';
import type { ReadLeft } from '../../metering/credits/left.ts';
import type { Caller } from '../../metering/keys/authenticate.ts';
import { withTimeout } from '../../platform/runtime/timeout.ts';
import type { StoredCompany } from './lookup-store.ts';
import type { Refresher } from './refresh.ts';
import { type RefreshBound, type RefreshBounds, RefreshesUsedUpError } from './refresh-bounds.ts';

export interface LookupParts {
  refresher: Pick<Refresher, 'refresh'>;
  /** Time of a lookup from its arrival to its answer. */
  timeoutMs: number;
  /** Called for each lookup that was refused because a bound of refreshes is used up. */
  onUsedUp?: (bound: RefreshBound) => void;
}

/** How a lookup of a valid NIF ended: with a fresh record, or with a problem of the request or of its item in a list. */
type LookupOutcome = { ok: true; company: StoredCompany } | ProblemAnswer;

/**
 * The stored record of a company while it is fresh, and a refreshed one otherwise (specification, Data freshness).
 * @param record what is stored, null when nothing is
 * @param arrivedMs when the request arrived, by `performance.now()`: the lookup's time is counted from then
 * @throws an error of the language itself: a fault of this program
 */
export type Lookup = (
  nif: string,
  record: Promise<StoredCompany | null>,
  caller: Caller,
  arrivedMs: number,
) => Promise<LookupOutcome>;

const NO_SOURCE =
  'There is no fresh record of this company, and no source could supply one: they failed, were too slow, or do not know it.';

const USED_UP: Record<RefreshBound, string> = {
  'account-day': 'The account has used up its refreshes of the day (UTC)',
  'account-minute': 'The account has used up the refreshes that a Free account has in a minute',
  'all-day': 'The refreshes of the day (UTC) of all accounts together are used up',
  'free-day': 'The refreshes of the day (UTC) of all Free accounts together are used up',
};

export function createLookup({ refresher, timeoutMs, onUsedUp }: LookupParts): Lookup {
  return async (nif, record, caller, arrivedMs) => {
    try {
      const stored = await record;
      if (stored?.fresh === true) return { ok: true, company: stored };
      const untilMs = arrivedMs + timeoutMs;
      const refresh = refresher.refresh(nif, caller, untilMs);
      const refreshed = await withTimeout(refresh, untilMs - performance.now(), 'the lookup');
      if (refreshed === 'not-found') return problem('company-not-found', 'No company has this NIF.');
      // A failed refresh is an error, however recent the stored record is (specification, Data freshness 3).
      if (refreshed === 'failed') {
        return problem('company-lookup-failed', NO_SOURCE, { cause: new Error('no source could tell') });
      }
      return { ok: true, company: refreshed };
    } catch (cause) {
      if (cause instanceof RefreshesUsedUpError) {
        onUsedUp?.(cause.bound);
        return usedUp(cause);
      }
      // Sources have their own timeouts. So this is our own failure, also when the time is up, and the call costs nothing.
      const text = 'The record could not be read, refreshed or stored in time.';
      return failureAnswer(cause, unavailable(text, cause));
    }
  };
}

/**
 * The free 503 that a lookup would get, if that is known before its credit is charged: a bound of refreshes is used up, and neither
 * a fresh record, nor a refresh under way, nor a "not found" answers the lookup.
 * @returns `null` at once unless this process remembers that a bound of the caller is used up; later `null` also means that nothing
 *   is left to be charged, so that the charge refuses the call, or that the answer could not be told
 */
export type FindRefusal = (
  nif: string,
  record: Promise<StoredCompany | null>,
  caller: Caller,
) => Promise<ProblemAnswer | null> | null;

export interface FindRefusalParts extends Pick<LookupParts, 'onUsedUp'> {
  bounds: Pick<RefreshBounds, 'known'>;
  refresher: Pick<Refresher, 'isHeld'>;
  readLeft: ReadLeft;
}

export function createFindRefusal({ bounds, refresher, readLeft, onUsedUp }: FindRefusalParts): FindRefusal {
  return (nif, record, caller) => {
    const known = bounds.known(caller);
    return known && find(nif, record, caller, known).catch(() => null);
  };

  async function find(
    nif: string,
    record: Promise<StoredCompany | null>,
    caller: Caller,
    known: RefreshesUsedUpError,
  ): Promise<ProblemAnswer | null> {
    if ((await record)?.fresh === true || (await refresher.isHeld(nif))) return null;
    if ((await readLeft(caller)) === 0) return null;
    onUsedUp?.(known.bound);
    return usedUp(known);
  }
}

/** The 503 of a bound that is used up: our own limit, so it costs nothing (docs/api.md: refresh). */
function usedUp(cause: RefreshesUsedUpError): ProblemAnswer {
  const detail = `${USED_UP[cause.bound]}: this company, which has no fresh record, can be refreshed at ${cause.roomAt.toISOString()}.`;
  const headers = { 'Retry-After': String(cause.retryAfterS) };
  return problem('service-unavailable', detail, { reason: 'refreshes', headers, cause });
}
