import type { Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { selectByWords, wordsCondition } from '../matches/words-index.ts';
import {
  type CurrentGeneration,
  createCurrentReader,
  foundRows,
  selectWhileCurrent,
} from '../search/generation.ts';
import type { Candidate } from './order.ts';
import type { WithReader } from './reader.ts';
import type { Read } from './reads.ts';
import type { VocabularyReader, WordFrom } from './vocabulary.ts';
import { vocabularyOf } from './vocabulary-table.ts';

/**
 * Reads the current generation in Postgres.
 * @param sql a pool with the settings of `pointQueries`, so that a table is only scanned in its physical order
 */
export function createPostgresReader(sql: Sql): WithReader {
  const read = createCurrentReader(sql, (generation) => generation);
  return (work, bound) =>
    read((generation) => {
      const findOne = async (one: Read) => foundRows(await bound(findEntries(sql, generation, one)), 'nif');
      const find = (reads: Read[]) => Promise.all(reads.map(findOne));
      return work({ ...readVocabularyOf(sql, generation, bound), find });
    }, bound);
}

/** Reads the vocabulary of a generation, which has to be current. */
export function readVocabularyOf(sql: Sql, generation: CurrentGeneration, bound: Bound): VocabularyReader {
  const vocabulary = quoted(vocabularyOf(generation.table));
  const count = selectWhileCurrent(generation, 'word, entries', {
    found: vocabulary,
    condition: 'word = ANY ($1::text[])',
  });
  const from = selectWhileCurrent(generation, 'beginning, word, entries', {
    found: `(SELECT beginning, longer.* FROM unnest($1::text[]) AS beginning CROSS JOIN LATERAL (
      SELECT word, entries FROM ${vocabulary}
      WHERE word >= beginning COLLATE "C" AND word < (beginning || chr(1114111)) COLLATE "C"
      ORDER BY word LIMIT $2) AS longer)`,
  });
  return {
    rows: generation.rows,
    async count(words) {
      if (words.length === 0) return new Map();
      type Row = { word: string; entries: number };
      const rows = await bound(sql.unsafe<Row[]>(count, [words], { prepare: true }));
      return new Map(foundRows(rows, 'word').map(({ word, entries }) => [word, entries]));
    },
    async wordsFrom(beginnings, limit) {
      if (beginnings.length === 0) return [];
      return foundRows(
        await bound(sql.unsafe<WordFrom[]>(from, [beginnings, limit], { prepare: true })),
        'word',
      );
    },
  };
}

/** The entries of a read, whose keys are no longer than what the index has of a word. */
function findEntries(sql: Sql, generation: CurrentGeneration, { groups, limit }: Read) {
  const columns = 'nif, legal_name AS "legalName", normalized_name AS normalized, sort_key AS "sortKey"';
  const found = selectByWords(generation, 'nif, legal_name, normalized_name, sort_key', {
    condition: '$1',
    limit,
  });
  const statement = selectWhileCurrent(generation, columns, { found });
  return sql.unsafe<Candidate[]>(statement, [wordsCondition(groups, null)], { prepare: true });
}
