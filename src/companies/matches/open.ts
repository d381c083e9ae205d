import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { AnswerQuery, KeyOf } from '../search/answer.ts';
import type { OpenDirectory } from '../search/open.ts';
import { MAX_RESULTS } from '../search/search.ts';
import { createElasticsearchMatches } from './elasticsearch.ts';
import { MATCH_BATCHES } from './matches.ts';
import { createPostgresMatches } from './postgres.ts';
import type { MatchQuery } from './query.ts';

/** Finds names by any of their words, in the directory that searches use. A NIF is found by the search. */
export function openMatch(
  { sql, elasticsearch }: { sql: Sql; elasticsearch: Client | null },
  { search, answering, current }: OpenDirectory,
): AnswerQuery<MatchQuery> {
  const find =
    elasticsearch === null || current === null
      ? createPostgresMatches(sql, MATCH_BATCHES)
      : createElasticsearchMatches(elasticsearch, current, MATCH_BATCHES);
  const findAny = (query: MatchQuery) =>
    query.kind === 'words' ? find(query, MAX_RESULTS) : search.find(query);
  return answering({ find: findAny }, keyOfMatch);
}

/** The key of a match in the cache of answers. No query begins with a blank, so that searches and matches share no key. */
export const keyOfMatch: KeyOf<MatchQuery> = (query) =>
  query.kind === 'words' ? ` ${query.normalized}` : null;
