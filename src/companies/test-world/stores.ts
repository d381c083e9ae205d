/** The interfaces of search, matches, lookup, debts and datasets in memory: they ask nobody, and know the world alone. */
import { MINUTE, SECOND } from '../../platform/units.ts';
import type { ReadDatasets } from '../datasets/store.ts';
import { PAGE_CHANGES, type ReadPage } from '../debts/changes/store.ts';
import type { DebtKind } from '../debts/kind.ts';
import type { Screen } from '../debts/screen/store.ts';
import { OverBudgetError } from '../lookup/budget.ts';
import type { LookupParts } from '../lookup/lookup.ts';
import type { FindCompanies } from '../lookup/store.ts';
import type { FindMatches } from '../matches/matches.ts';
import { arrange } from '../matches/tiers.ts';
import { directoryRow } from '../search/document.ts';
import {
  DirectoryAwayError,
  type DirectorySearch,
  MAX_RESULTS,
  type SearchResult,
} from '../search/search.ts';
import { CHANGES, COMPANIES, calledUpBy, DATES, DEBTS, DIRECTORY, NAMES } from './world.ts';

/** In the order of results. */
const ROWS = NAMES.map(([nif, name]) => ({ ...directoryRow(nif, name), entry: { nif, legalName: name } }))
  .map((row) => ({ ...row, key: `${row.sort_key}\t${row.nif}` }))
  .sort((one, other) => (one.key < other.key ? -1 : 1));

const resultOf = (rows: typeof ROWS, limit: number): SearchResult => ({
  entries: rows.slice(0, limit).map(({ entry }) => entry),
  index: null,
});

/** @throws as the adapters of the directory do, if the query calls that up */
function refuseAtWill(text: string): void {
  const kind = calledUpBy(text);
  if (kind === 'search-failed') throw new Error('the search failed at will');
  if (kind === 'service-unavailable') throw new DirectoryAwayError('the directory is away at will');
}

export const searchWorld: DirectorySearch = {
  async find(query) {
    if (query.kind === 'nothing') return resultOf([], 0);
    refuseAtWill(query.kind === 'nif' ? query.nif : query.normalized);
    if (query.kind === 'nif')
      return resultOf(
        ROWS.filter(({ nif }) => nif === query.nif),
        1,
      );
    const found = ROWS.filter(({ normalized_name }) => normalized_name.startsWith(query.normalized));
    const isExact = ({ normalized_name }: (typeof ROWS)[number]) => normalized_name === query.normalized;
    return resultOf([...found.filter(isExact), ...found.filter((row) => !isExact(row))], MAX_RESULTS);
  },
};

export const matchWorld: FindMatches = async (query, limit) => {
  refuseAtWill(query.normalized);
  return resultOf(
    arrange(ROWS, query, ({ normalized_name }) => normalized_name),
    limit,
  );
};

export const findCompanies: FindCompanies = async () => COMPANIES;

/** Every company's record is fresh. So only other companies are refreshed, and their NIF says what comes of it. */
export const refresher: LookupParts['refresher'] = {
  async refresh(nif) {
    const kind = calledUpBy(nif);
    if (kind !== 'service-unavailable') return kind === 'company-lookup-failed' ? 'failed' : 'not-found';
    throw new OverBudgetError('account-minute', new Date(Date.now() + MINUTE), MINUTE / SECOND);
  },
};

export const screenWorld: Screen = async () => ({ debts: DEBTS, dates: DATES });

const LAST = CHANGES.at(-1)!.number;
/** Cursors before the feed have expired. */
const PURGED = CHANGES[0]!.number - 1;

export const readWorldPage: ReadPage = async ({ after, nifs, kinds }) => {
  const found = CHANGES.filter(
    ({ number, nif, kind }) =>
      number > (after ?? PURGED) && kinds.includes(kind) && (nifs?.includes(nif) ?? true),
  );
  const more = found.length > PAGE_CHANGES;
  return { changes: found.slice(0, PAGE_CHANGES), more, last: LAST, purged: PURGED, highest: LAST };
};

export const readWorldDatasets: ReadDatasets = async () => {
  const updated = new Date(DIRECTORY.updated);
  const dataset = (kind: DebtKind) => {
    const companies = DEBTS.values()
      .filter((debts) => debts[kind] !== undefined)
      .toArray().length;
    return { date: DATES[kind], companies, imported: updated, by: 'test' };
  };
  return {
    directory: { companies: NAMES.length, updated, by: null, file: null },
    debts: { tax: dataset('tax'), socialSecurity: dataset('social-security') },
  };
};
