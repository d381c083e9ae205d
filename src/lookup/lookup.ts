/**
 * Lookup of one company: `store.ts` reads and writes records, `refresh.ts` asks the sources, `lease.ts` makes sure that one instance
 * refreshes a NIF at a time. `batch.ts` looks up many at once. A refreshed record is stored before it is answered.
 */
import { isValidNif, normalizeNif } from '../companies/nif.ts';
import { isBug } from '../errors.ts';
import { type ProblemAnswer, problem, unavailable } from '../http/answer.ts';
import type { Caller } from '../keys/authenticate.ts';
import { withTimeout } from '../runtime/timeout.ts';
import type { Refresher } from './refresh.ts';
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

class OverBudgetError extends Error {
  override readonly name = 'OverBudgetError';

  constructor() {
    super('the account has used up its refreshes of the day');
  }
}

/** Every source that could be asked has failed. */
class NoSourceError extends Error {
  override readonly name = 'NoSourceError';

  constructor() {
    super('no source could tell');
  }
}

export function createLookup({ findCompany, refresher, timeoutMs, onOverBudget }: LookupParts): Lookup {
  async function refresh(nif: string, caller: Caller): Promise<StoredCompany | null> {
    const outcome = await refresher.refresh(nif, caller);
    if (outcome === 'not-found') return null;
    if (outcome === 'over-budget') throw new OverBudgetError();
    // A failed refresh is an error, however recent the stored record is (specification, Data freshness 3).
    const refreshed = outcome === 'found' ? await findCompany(nif) : null;
    if (refreshed === null) throw new NoSourceError();
    return refreshed;
  }

  return async (nif, record, caller, sinceMs = performance.now()) => {
    try {
      let company = await record;
      if (company?.fresh !== true) {
        const leftMs = timeoutMs - (performance.now() - sinceMs);
        company = await withTimeout(refresh(nif, caller), leftMs, 'the lookup');
      }
      return company === null
        ? problem('company-not-found', 'No company has this NIF.')
        : { ok: true, company };
    } catch (cause) {
      if (isBug(cause)) throw cause;
      if (cause instanceof OverBudgetError) {
        onOverBudget?.();
        return problem('company-lookup-failed', OVER_BUDGET, { cause });
      }
      // A timer may be early by a moment.
      const isSlow = performance.now() - sinceMs >= timeoutMs - 10;
      if (cause instanceof NoSourceError || isSlow) {
        return problem('company-lookup-failed', NO_SOURCE, { cause });
      }
      // Our own store failed, not a source: the call costs nothing.
      return unavailable('The stored record could not be read or written.', cause);
    }
  };
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
