/**
 * Names by any of their words (docs/api.md: by any words). `matches-query.ts` reads a query, and `tiers.ts` has the order. All matches are
 * asked for in the order of sort keys. If these are few, they are put in order here; otherwise the first ones of each kind are asked
 * for. test/companies/matches/matches-adapters.test.ts compares the stores.
 */
import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher, QUEUE_TIMEOUT_MS } from '../../platform/runtime/batcher.ts';
import type { AnswerQuery } from '../search/answer.ts';
import type { CurrentDirectory } from '../search/current.ts';
import { createElasticsearchStore } from '../search/elasticsearch-store.ts';
import type { OpenGeneration } from '../search/generation-reader.ts';
import { INDEX_BATCHES, type OpenDirectory } from '../search/open-search.ts';
import { type Finder, firstOf, MAX_RESULTS, type SearchResult } from '../search/search.ts';
import { createWalkingStore } from './matches-postgres.ts';
import type { MatchQuery, WordsQuery } from './matches-query.ts';
import { arrange } from './tiers.ts';

/** Each takes a core of Postgres. */
const IN_FLIGHT_IN_POSTGRES = 2;
const IN_FLIGHT = 64;

/** A question that finds fewer has found all. Even if every name of an earlier tier comes again, enough new ones remain. */
const ENOUGH = 2 * MAX_RESULTS;

/**
 * The first matches of a query.
 * @param inFlight queries at once. A query may queue longer than in a batch, behind the others of its request.
 */
export function createMatches(
  current: CurrentDirectory,
  open: OpenGeneration,
  inFlight: number,
): Finder<WordsQuery> {
  const find = createBatcher<WordsQuery, SearchResult>(
    async ([query], bound) => {
      const { before, last, normalized } = query!;
      const result = await current.read(async (generation) => {
        const { byPrefix, byWords } = open(generation);
        const groups = before.map((word) => [[word]]);
        const all = await bound(byWords(groups, last, ENOUGH));
        if (all.length < ENOUGH) {
          const entries = arrange(all, query!).slice(0, MAX_RESULTS);
          return { entries, generation: generation.id };
        }
        const beginning = await bound(byPrefix(normalized, false));
        if (beginning.length === MAX_RESULTS) return { entries: beginning, generation: generation.id };
        const whole = await bound(byWords([...groups, [[last]]], null, ENOUGH));
        return { entries: firstOf([...beginning, ...whole, ...all], MAX_RESULTS), generation: generation.id };
      });
      return [result];
    },
    {
      name: 'the directory',
      stage: 'match',
      maxBatch: 1,
      maxConcurrentBatches: inFlight,
      queueTimeoutMs: 3 * QUEUE_TIMEOUT_MS,
    },
  );
  return { find };
}

/** The matches of the configured store. @param sql a pool with the settings of `pointQueries` */
export function openMatches(
  sql: Sql,
  elasticsearch: Client | null,
  current: CurrentDirectory,
): Finder<WordsQuery> {
  return elasticsearch === null
    ? createMatches(current, createWalkingStore(sql), IN_FLIGHT_IN_POSTGRES)
    : createMatches(current, createElasticsearchStore(elasticsearch, INDEX_BATCHES), IN_FLIGHT);
}

/** Finds names by any of their words, in the directory that searches use. A NIF is found by the search. */
export function openMatch(
  { sql, elasticsearch }: { sql: Sql; elasticsearch: Client | null },
  { search, answering, current }: OpenDirectory,
): AnswerQuery<MatchQuery> {
  const { find } = openMatches(sql, elasticsearch, current);
  const findAny = (query: MatchQuery) => (query.kind === 'words' ? find(query) : search.find(query));
  return answering({ find: findAny });
}
