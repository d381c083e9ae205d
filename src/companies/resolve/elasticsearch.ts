import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { normalizeName } from '../name.ts';
import { type CurrentIndex, indexOf } from '../search/current-index.ts';
import { readSortedEntry } from '../search/document.ts';
import type { CurrentGeneration } from '../search/generation.ts';
import { SearchError } from '../search/hits.ts';
import { assertFound, assertNotAway } from '../search/index-batches.ts';
import { searchLines, sendSearches, wordsFilter } from '../search/msearch.ts';
import { readVocabularyOf } from './postgres.ts';
import type { WithReader } from './reader.ts';
import type { Read } from './reads.ts';

/**
 * Reads the entries in Elasticsearch, and the vocabulary in Postgres. The index that is asked is that of the generation whose
 * vocabulary is read, so that both are of one directory.
 */
export function createElasticsearchReader(
  client: Client,
  sql: Sql,
  current: CurrentIndex,
  timeoutMs: number,
): WithReader {
  return (work, bound) =>
    current.read((generation) => {
      const find = (reads: Read[]) => findEntries(client, generation, reads, timeoutMs, bound);
      return work({ ...readVocabularyOf(sql, generation, bound), find });
    }, bound);
}

async function findEntries(
  client: Client,
  generation: CurrentGeneration,
  reads: Read[],
  timeoutMs: number,
  bound: Bound,
) {
  if (reads.length === 0) return [];
  assertNotAway(client);
  const index = indexOf(generation);
  const searches = reads.map(({ groups, limit }) => searchLines(index, wordsFilter(groups, null), limit));
  const outcomes = assertFound(await bound(sendSearches(client, searches, timeoutMs, readSortedEntry)));
  return outcomes.map((entries) => {
    if (entries instanceof SearchError) throw entries;
    // A sort key has gone through the slow half of the normalization.
    return entries.map((entry) => ({ ...entry, normalized: normalizeName(entry.sortKey) }));
  });
}
