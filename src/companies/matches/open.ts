import type { Client } from '@elastic/elasticsearch';
import type { Config } from '../../platform/config/config.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import type { AnswerQuery } from '../search/answer.ts';
import type { OpenDirectory } from '../search/open.ts';
import { MAX_RESULTS } from '../search/search.ts';
import { createElasticsearchMatches } from './elasticsearch.ts';
import { keyOfMatches } from './keeping.ts';
import { MATCH_BATCHES, MAX_IN_LIST } from './matches.ts';
import { createPostgresMatches } from './postgres.ts';
import type { MatchQuery, WordsQuery } from './query.ts';

type NifQuery = Exclude<MatchQuery, WordsQuery>;
/** Of all requests of several queries together. */
const NIFS_AT_ONCE = 8;

/** Find names by any of their words, in the directory that searches use: for one query, and for several. */
export function openMatches(
  { elasticsearchAlias }: Pick<Config, 'elasticsearchAlias'>,
  { sql, elasticsearch }: { sql: Sql; elasticsearch: Client | null },
  { search, answering }: OpenDirectory,
): { match: AnswerQuery<MatchQuery>; matchSeveral: AnswerQuery<MatchQuery> } {
  const answer = (kind: keyof typeof MATCH_BATCHES, limit: number) => {
    const batches = MATCH_BATCHES[kind];
    const find =
      elasticsearch === null
        ? createPostgresMatches(sql, batches)
        : createElasticsearchMatches(elasticsearch, elasticsearchAlias, batches);
    // A NIF is found by the search, of several queries a few NIFs at a time, so that other searches don't queue behind them.
    const findNif =
      kind === 'match'
        ? search.find
        : createBatcher((nifs: NifQuery[]) => Promise.all(nifs.map(search.find)), {
            ...batches,
            maxBatch: NIFS_AT_ONCE,
          });
    const findAny = (query: MatchQuery) => (query.kind === 'words' ? find(query, limit) : findNif(query));
    return answering({ find: findAny }, keyOfMatches(kind));
  };
  return { match: answer('match', MAX_RESULTS), matchSeveral: answer('matches', MAX_IN_LIST) };
}
