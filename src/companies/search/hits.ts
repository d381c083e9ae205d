/** Reads the answer to an `_msearch`. */
import { readEntry, type SortedEntry } from './document.ts';

/** One search of several has failed. */
export class SearchError extends Error {
  override readonly name = 'SearchError';

  constructor(
    readonly status: number,
    reason: string | number,
  ) {
    super(`Elasticsearch answered ${reason}`);
  }
}

/** The entries of one search, or its failure. */
export type SearchOutcome = SortedEntry[] | SearchError;

const NINE_DIGITS = /^\d{9}$/;

/** One search of an `_msearch` answer. */
interface Item {
  status?: number;
  timed_out?: boolean;
  error?: { type?: string };
  hits?: { hits?: { sort: [string] }[] };
}

/**
 * @param count the number of searches that were asked
 * @throws when the answer is not one of Elasticsearch's (a gateway's page, for example)
 */
export function readOutcomes(answer: unknown, count: number): SearchOutcome[] {
  try {
    const { responses } = answer as { responses: Item[] };
    if (responses.length === count) return responses.map(outcomeOf);
  } catch {}
  throw new Error('Elasticsearch did not answer every search of the request with directory entries');
}

function outcomeOf({ status, timed_out, error, hits }: Item): SearchOutcome {
  if (status !== 200 || timed_out === true) {
    return new SearchError(status ?? 0, error?.type ?? (timed_out === true ? 'too late' : (status ?? 0)));
  }
  return (hits?.hits ?? []).map(({ sort: [entry] }) => {
    const company = readEntry(entry);
    if (!NINE_DIGITS.test(company.nif)) throw new Error('no directory entry');
    return company;
  });
}
