import { UNPAID } from '../../http/api-route.ts';
import type { ActivityRow, ReadActivity } from '../../metering/activity/activity-store.ts';
import { SECOND } from '../../platform/units.ts';
import { CHANGES as FEED } from '../debts/changes/changes-feed.ts';
import type { ReadPage } from '../debts/changes/changes-store.ts';
import { createLookup } from '../lookup/lookup.ts';
import type { MatchQuery } from '../matches/matches-query.ts';
import { arrange } from '../matches/tiers.ts';
import { type DirectoryEntry, directoryEntry } from '../search/document.ts';
import { DirectoryAwayError, MAX_RESULTS } from '../search/search.ts';
import type { ParsedQuery } from '../search/search-query.ts';
import { writeAnswer } from '../search/search-schema.ts';
import { resolveAmong } from './memory-reader.ts';
import { calledUpBy, WORLD } from './world.ts';

const COMPANIES = new Map(
  WORLD.companies.map(({ details, ...company }) => [
    company.nif,
    { ...company, details: JSON.stringify(details), fresh: true },
  ]),
);

const keyOf = ({ sortKey, nif }: DirectoryEntry) => `${sortKey}\t${nif}`;

/** In the order of results. */
const ROWS = WORLD.companies
  .map(({ nif, details }) => directoryEntry(nif, details.title))
  .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));

/** @throws as the adapters of the directory do, if the text calls that up */
function throwAtWill(text: string): void {
  const kind = calledUpBy(text);
  if (kind === 'service-unavailable') throw new DirectoryAwayError('away at will');
  if (kind === 'search-failed') throw new Error('failed at will');
}

function find(query: ParsedQuery | MatchQuery): DirectoryEntry[] {
  if (query.kind === 'nothing') return [];
  const asked = query.kind === 'nif' ? query.nif : query.normalized;
  throwAtWill(asked);
  if (query.kind === 'nif') return ROWS.filter(({ nif }) => nif === asked);
  if (query.kind === 'words') return arrange(ROWS, query);
  const exact = ROWS.filter(({ normalized }) => normalized === asked);
  return [...exact, ...ROWS.filter((row) => row.normalized.startsWith(asked) && !exact.includes(row))];
}

const answer = async (query: ParsedQuery | MatchQuery) => writeAnswer(find(query).slice(0, MAX_RESULTS));

const CHANGES = WORLD.imports.flatMap(({ first, changes, ...list }) =>
  changes.map(([nif, before, after], index) => ({ ...list, number: first + index, nif, before, after })),
);
const LAST = CHANGES.at(-1)!.number;
/** Cursors before the feed have expired. */
const REMOVED = CHANGES[0]!.number - 1;

const readPage: ReadPage = async ({ after, nifs, kinds }) => {
  const found = CHANGES.filter(
    ({ number, nif, kind }) =>
      number > (after ?? REMOVED) && kinds.includes(kind) && (nifs?.includes(nif) ?? true),
  );
  const more = found.length > FEED.pageRows;
  return { rows: found.slice(0, FEED.pageRows), more, last: LAST, removed: REMOVED, highest: LAST };
};

const ROWS_OF_ACTIVITY = WORLD.activity.rows.map(({ call, ...row }, index): ActivityRow => {
  const id = call === undefined ? null : `00000000-0000-4000-8000-${String(call).padStart(12, '0')}`;
  const none = {
    request: id,
    key: call === undefined ? null : 'key_test',
    endpoint: null,
    status: null,
    problem: null,
    reason: null,
    unlisted: null,
  };
  return { number: WORLD.activity.first + index, ...none, ...row, call: id };
});
const LAST_OF_ACTIVITY = ROWS_OF_ACTIVITY.at(-1)!.number;

const readActivity: ReadActivity = async (_, after) => ({
  rows: ROWS_OF_ACTIVITY.filter(({ number }) => number > (after ?? 0)),
  more: false,
  removed: WORLD.activity.first - 1,
  last: LAST_OF_ACTIVITY,
  highest: LAST_OF_ACTIVITY,
});

/** The adapters of test keys: they know world.json alone, and ask nobody (docs/test-keys.md: test keys). */
export const TEST_WORLD = {
  readDatasets: async () => WORLD.datasets,
  search: answer,
  match: answer,
  readLeft: async () => Number.POSITIVE_INFINITY,

  async resolve(name: string) {
    throwAtWill(name);
    // Only a name with a candidate can lack its credit.
    return resolveAmong(ROWS, UNPAID.some((kind) => kind === calledUpBy(name)) ? ROWS[0]!.legalName : name);
  },
  findCompany: async (nif: string) => COMPANIES.get(nif) ?? null,
  findCompanies: async () => COMPANIES,
  findRefusal: () => null,
  lookUp: createLookup({
    // Every company's record is fresh. So only other companies are refreshed, and their NIF says what comes of it.
    refresher: {
      async refresh(nif) {
        const kind = calledUpBy(nif);
        if (kind === 'service-unavailable') throw new Error('away at will');
        return kind === 'company-lookup-failed' ? 'failed' : 'not-found';
      },
    },
    timeoutMs: 10 * SECOND,
  }),
  screen: async () => ({
    debts: new Map(WORLD.companies.map(({ nif, debts }) => [nif, debts])),
    datasets: WORLD.datasets.debts,
  }),
  readPage,
  readActivity,
};
