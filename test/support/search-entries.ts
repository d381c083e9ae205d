import { expect } from 'bun:test';
import type { Client } from '@elastic/elasticsearch';
import { openMatches } from '../../src/companies/matches/matches.ts';
import { parseMatchQuery, type WordsQuery } from '../../src/companies/matches/matches-query.ts';
import { openReader } from '../../src/companies/resolve/resolve-open.ts';
import { openCurrent } from '../../src/companies/search/current.ts';
import type { SearchEntry } from '../../src/companies/search/document.ts';
import { openSearch } from '../../src/companies/search/open-search.ts';
import type { DirectorySearch, Finder } from '../../src/companies/search/search.ts';
import { parseQuery } from '../../src/companies/search/search-query.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { inOneTurn } from './stopped-clock.ts';

/** As an instance of the service that starts now. Without a client Postgres searches. */
export const searchOf = (sql: Sql, client: Client | null = null) =>
  openSearch(sql, client, openCurrent(sql, client));
export const matchesOf = (sql: Sql, client: Client | null = null) =>
  openMatches(sql, client, openCurrent(sql, client));
export const readerOf = (sql: Sql, client: Client | null = null) =>
  openReader(sql, client, openCurrent(sql, client));

/** A slow machine answers so many within the time of a search. */
const TOGETHER = 20;

/** Asks several queries at the same time, so that they share batches, and compares the answers with those of an oracle. */
export async function expectAnswers(
  queries: string[],
  find: (q: string) => Promise<SearchEntry[]>,
  oracle: (q: string) => SearchEntry[],
): Promise<void> {
  for (let from = 0; from < queries.length; from += TOGETHER) {
    const some = queries.slice(from, from + TOGETHER);
    const answers = await inOneTurn(() => Promise.all(some.map(find)));
    for (const [i, q] of some.entries()) expect([q, answers[i]]).toEqual([q, oracle(q)]);
  }
}

/** The entries that a directory finds for `q`, as a caller types it. */
export async function searchEntries(directory: DirectorySearch, q: string): Promise<SearchEntry[]> {
  const { entries } = await directory.find(parseQuery(q));
  return entries.map(({ nif, legalName }) => ({ nif, legalName }));
}

/** The matches for `q`, as a caller types it. */
export async function matchEntries(matches: Finder<WordsQuery>, q: string): Promise<SearchEntry[]> {
  const query = parseMatchQuery(q);
  if (query.kind === 'nothing') return [];
  if (query.kind !== 'words') throw new Error('no query for words');
  const { entries } = await matches.find(query);
  return entries.map(({ nif, legalName }) => ({ nif, legalName }));
}
