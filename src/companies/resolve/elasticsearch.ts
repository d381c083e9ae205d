import type { Client } from '@elastic/elasticsearch';
import { ReplacedError } from '../../platform/postgres/begin-again.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { hasWord } from '../matches/elasticsearch.ts';
import { normalizeName } from '../name.ts';
import { readSortedEntry } from '../search/document.ts';
import { createCurrentReader, selectSearched } from '../search/generation.ts';
import { SearchError } from '../search/hits.ts';
import { searchLines, sendSearches } from '../search/msearch.ts';
import { assertNotAway } from '../search/rounds.ts';
import { readVocabularyOf } from './postgres.ts';
import type { WithReader } from './reader.ts';
import type { Read } from './reads.ts';

const NOT_FOUND = 404;

/**
 * Reads the entries in Elasticsearch, and the vocabulary in Postgres. The index that is asked is that of the generation whose
 * vocabulary is read, so that both are of one directory. If the index was removed, the generation was replaced.
 */
export function createElasticsearchReader(client: Client, sql: Sql, timeoutMs: number): WithReader {
  const read = createCurrentReader(sql, (generation) => generation, selectSearched);
  return (work, bound) =>
    read((generation) => {
      const find = (reads: Read[]) => findEntries(client, generation.index, reads, timeoutMs, bound);
      return work({ ...readVocabularyOf(sql, generation, bound), find });
    }, bound);
}

async function findEntries(
  client: Client,
  index: string | null,
  reads: Read[],
  timeoutMs: number,
  bound: Bound,
) {
  if (reads.length === 0) return [];
  assertNotAway(client);
  if (index === null) throw new Error('the directory has no index');
  const searches = reads.map((one) => searchLines(index, filterOf(one), one.limit));
  const outcomes = await bound(sendSearches(client, searches, timeoutMs, readSortedEntry));
  return outcomes.map((outcome) => {
    if (outcome instanceof SearchError) {
      throw outcome.status === NOT_FOUND ? new ReplacedError('the index was removed') : outcome;
    }
    // A sort key has gone through the slow half of the normalization.
    return outcome.entries.map((entry) => ({ ...entry, normalized: normalizeName(entry.sortKey) }));
  });
}

function filterOf({ groups }: Read): object {
  const keyFilter = (words: readonly string[]) =>
    words.length === 1 ? hasWord(words[0]!) : { bool: { filter: words.map(hasWord) } };
  return { bool: { filter: groups.map((keys) => ({ bool: { should: keys.map(keyFilter) } })) } };
}
