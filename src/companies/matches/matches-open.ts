import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { AnswerQuery } from '../search/answer.ts';
import type { CurrentDirectory } from '../search/current.ts';
import { createElasticsearchStore } from '../search/elasticsearch-store.ts';
import { INDEX_BATCHES, type OpenDirectory } from '../search/open-search.ts';
import type { Finder } from '../search/search.ts';
import { createMatches } from './matches.ts';
import { createWalkingStore } from './matches-postgres.ts';
import type { MatchQuery, WordsQuery } from './matches-query.ts';

/** Each takes a core of Postgres. */
const IN_FLIGHT_IN_POSTGRES = 2;
const IN_FLIGHT = 64;

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
