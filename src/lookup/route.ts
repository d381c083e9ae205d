import { Type } from '@sinclair/typebox';
import type { Handler } from '../admission/pipeline.ts';
import { isValidNif, normalizeNif } from '../companies/nif.ts';
import { within } from '../deadline.ts';
import { isBug } from '../errors.ts';
import { type Answer, okJson, problem, unavailable } from '../http/answer.ts';
import { type ApiRoute, BASE_PATH } from '../http/api-route.ts';
import { pathBehind } from '../http/url.ts';
import type { Caller } from '../keys/authenticate.ts';
import { writeCompany } from './present.ts';
import type { Refresher } from './refresh.ts';
import { CompanyAnswerSchema } from './schema.ts';
import type { FindCompany, StoredCompany } from './store.ts';

/** GET /companies/{nif} */
export const lookupRoute: ApiRoute = {
  path: '/companies/:nif',
  params: Type.Object({
    nif: Type.String({
      description: 'Nine digits with a right check digit; spaces, hyphens and periods may separate them.',
      // Nine digits, and the separators of normalizeNif.
      pattern: '^[ \\t\\u00a0\\u202f.-]*([0-9][ \\t\\u00a0\\u202f.-]*){9}$',
      examples: ['500002576'],
    }),
  }),
  success: CompanyAnswerSchema,
  successHeaders: {
    'X-Record-Source': 'Where the record is from: `nif.pt`, `vies` or `einforma`.',
    'Last-Modified': 'When it was fetched there.',
  },
  problems: ['validation', 'company-not-found', 'company-lookup-failed'],
  charge: 'lookup',
  detail: {
    operationId: 'getCompany',
    summary: 'Get a company',
    description:
      'The details of one company: as stored when younger than six days, otherwise refreshed from the data provider or, if that fails, from the commercial registry.',
  },
};

export interface LookupParts {
  findCompany: FindCompany;
  refresher: Refresher;
  /** For all that a lookup does once it is paid. */
  timeoutMs: number;
  /** Told of each lookup that fails because its account has used up its refreshes of the day. */
  onOverBudget?: () => void;
}

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

/** The read of a stored record that runs while the credit is spent. */
interface Reading {
  /** Valid, nine digits. */
  nif: string;
  record: ReturnType<FindCompany>;
}

/** Serves the stored record of a company while it is fresh, and a refreshed one otherwise. */
export function createLookupHandler(parts: LookupParts): Handler<Reading | null> {
  const { findCompany, refresher, timeoutMs, onOverBudget } = parts;

  async function refresh(nif: string, caller: Caller): Promise<StoredCompany | null> {
    const outcome = await refresher.refresh(nif, caller);
    if (outcome === 'not-found') return null;
    if (outcome === 'over-budget') throw new OverBudgetError();
    // A failed refresh is an error, however recent the stored record is (specification, Data freshness 3).
    const refreshed = outcome === 'found' ? await findCompany(nif) : null;
    if (refreshed === null) throw new NoSourceError();
    return refreshed;
  }

  async function answer({ nif, record }: Reading, caller: Caller): Promise<Answer> {
    const sinceMs = performance.now();
    try {
      let company = await record;
      if (company?.fresh !== true) {
        const leftMs = timeoutMs - (performance.now() - sinceMs);
        company = await within(refresh(nif, caller), leftMs, 'the lookup');
      }
      if (company === null) return problem('company-not-found', 'No company has this NIF.');
      return okJson(`{"result":"success","data":${writeCompany(company)}}`, {
        'X-Record-Source': company.source,
        'Last-Modified': company.fetchedAt.toUTCString(),
      });
    } catch (cause) {
      if (isBug(cause)) throw cause;
      if (cause instanceof OverBudgetError) {
        onOverBudget?.();
        return problem('company-lookup-failed', OVER_BUDGET, { cause });
      }
      // A timer may be early by a moment.
      const isSlow = performance.now() - sinceMs >= timeoutMs - 10;
      if (cause instanceof NoSourceError || isSlow) {
        return problem('company-lookup-failed', undefined, { cause });
      }
      // Our own store failed, not a source: the call costs nothing.
      return unavailable('The stored record could not be read or written.', cause);
    }
  }

  return {
    charge: lookupRoute.charge,
    prefetch(request) {
      const nif = nifOf(request.url);
      if (nif === null) return null;
      const record = findCompany(nif);
      // Without a credit nobody awaits it.
      record.catch(() => {});
      return { nif, record };
    },
    async handle({ caller, prefetched }) {
      if (prefetched === null) {
        return problem('validation', 'The NIF is not nine digits, or its check digit is wrong.');
      }
      return answer(prefetched, caller);
    },
  };
}

/** The valid NIF at the end of the path; null for anything else, malformed escapes included. */
function nifOf(url: string): string | null {
  try {
    const nif = normalizeNif(decodeURIComponent(pathBehind(`${BASE_PATH}/companies/`, url)));
    return nif !== null && isValidNif(nif) ? nif : null;
  } catch {
    return null;
  }
}
