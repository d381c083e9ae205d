/**
 * Lookup of one company: `store.ts` reads and writes records, `refresh.ts` asks the sources, `lease.ts` makes sure that one instance
 * refreshes a NIF at a time. `batch.ts` looks up many at once. A refreshed record is stored before it is answered.
 */
import { isValidNif, normalizeNif } from '../companies/nif.ts';
import { isBug } from '../errors.ts';
import { type ProblemAnswer, problem, unavailable } from '../http/answer.ts';
import type { Caller } from '../keys/authenticate.ts';
import { withTimeout } from '../runtime/timeout.ts';
import type { Refresher, RefreshResult } from './refresh.ts';
import type { FindCompany, StoredCompany } from './store.ts';

export interface LookupParts {
  findCompany: FindCompany;
  refresher: Refresher;
  /** For all that a lookup does once it is paid. */
  timeoutMs: number;
  /** Told of each lookup that fails because its account has used up its refreshes of the day. */
  onOverBudget?: () => void;
}

/** How a lookup of a valid NIF ended: with a fresh record, or with a problem that the single and the batch lookup share. */
export type LookupOutcome = { ok: true; company: StoredCompany } | ProblemAnswer;

/**
 * The stored record of a company while it is fresh, and a refreshed one otherwise (specification, Data freshness).
 * @param record what is stored, null when nothing is
 * @param sinceMs when the lookup began, by `performance.now()`: its time is counted from then; absent means now
 * @throws an error of the language itself: a fault of this program
 */
export type Lookup = (
  nif: string,
  record: Promise<StoredCompany | null>,
  caller: Caller,
  sinceMs?: number,
) => Promise<LookupOutcome>;

const NO_SOURCE =
  'There is no fresh record of this company, and no source could supply one: they failed, were too slow, or do not know it.';
const OVER_BUDGET =
  'The account has used up its refreshes of the day (UTC): companies without a fresh record are looked up again tomorrow.';

export function createLookup({ findCompany, refresher, timeoutMs, onOverBudget }: LookupParts): Lookup {
  async function refresh(
    nif: string,
    caller: Caller,
  ): Promise<StoredCompany | Exclude<RefreshResult, 'found'>> {
    const outcome = await refresher.refresh(nif, caller);
    return outcome === 'found' ? ((await findCompany(nif)) ?? 'failed') : outcome;
  }

  return async (nif, record, caller, sinceMs = performance.now()) => {
    try {
      const stored = await record;
      if (stored?.fresh === true) return { ok: true, company: stored };
      const leftMs = timeoutMs - (performance.now() - sinceMs);
      const refreshed = await withTimeout(refresh(nif, caller), leftMs, 'the lookup');
      if (refreshed === 'not-found') return problem('company-not-found', 'No company has this NIF.');
      if (refreshed === 'over-budget') {
        onOverBudget?.();
        return lookupFailed(OVER_BUDGET, new Error('the account has used up its refreshes of the day'));
      }
      // A failed refresh is an error, however recent the stored record is (specification, Data freshness 3).
      if (refreshed === 'failed') return lookupFailed(NO_SOURCE, new Error('no source could tell'));
      return { ok: true, company: refreshed };
    } catch (cause) {
      if (isBug(cause)) throw cause;
      // A timer may be early by a moment.
      const isSlow = performance.now() - sinceMs >= timeoutMs - 10;
      if (isSlow) return lookupFailed(NO_SOURCE, cause);
      // Our own store failed, not a source: the call costs nothing.
      return unavailable('The stored record could not be read or written.', cause);
    }
  };
}

function lookupFailed(detail: string, cause: unknown): ProblemAnswer {
  return problem('company-lookup-failed', detail, { cause });
}

/** The answer to a NIF that can't be looked up. */
export function invalidNif(): ProblemAnswer {
  return problem('validation', 'The NIF is not nine digits, or its check digit is wrong.');
}

/** The nine digits of a NIF in the form that a path takes; null when they are not nine, or the check digit is wrong. */
export function validNif(text: string): string | null {
  const nif = normalizeNif(text);
  return nif !== null && isValidNif(nif) ? nif : null;
}
