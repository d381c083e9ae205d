import type { Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import type { CurrentDirectory, CurrentGeneration } from '../search/current.ts';
import type { DirectoryEntry } from '../search/document.ts';
import type { OpenGeneration } from '../search/generation-reader.ts';
import type { Read } from './reads.ts';
import type { VocabularyReader, WordFrom } from './vocabulary.ts';
import { vocabularyOf } from './vocabulary-table.ts';

/** Reads one directory, which does not change meanwhile. */
export interface DirectoryReader extends VocabularyReader {
  /** The entries of each read. */
  find(reads: Read[]): Promise<DirectoryEntry[][]>;
}

/**
 * Runs `work` with a reader of the current directory, and again if the directory was replaced meanwhile.
 * @param bound bounds the wait for each question; by default nothing does
 * @throws when the directory can't be read
 */
export type WithReader = <T>(work: (reader: DirectoryReader) => Promise<T>, bound?: Bound) => Promise<T>;

/**
 * Reads the entries in a store, and the vocabulary in Postgres, of one generation.
 * @param sql a pool with the settings of `pointQueries`
 */
export function createReader(current: CurrentDirectory, open: OpenGeneration, sql: Sql): WithReader {
  return (work, bound = async (question) => question) =>
    current.read((generation) => {
      const find = (reads: Read[]) => {
        const { byWords } = open(generation);
        return bound(Promise.all(reads.map(({ groups, limit }) => byWords(groups, null, limit))));
      };
      return work({ ...readVocabularyOf(sql, generation, bound), find });
    });
}

/** Reads the vocabulary of a generation. */
function readVocabularyOf(sql: Sql, generation: CurrentGeneration, bound: Bound): VocabularyReader {
  const vocabulary = quoted(vocabularyOf(generation.table));
  return {
    rows: generation.rows,
    async count(words) {
      if (words.length === 0) return new Map();
      const rows = await bound(
        sql.unsafe<{ word: string; entries: number }[]>(
          `SELECT word, entries FROM ${vocabulary} WHERE word = ANY ($1::text[])`,
          [words],
          { prepare: true },
        ),
      );
      return new Map(rows.map(({ word, entries }) => [word, entries]));
    },
    async wordsFrom(beginnings, limit) {
      if (beginnings.length === 0) return [];
      return bound(
        sql.unsafe<WordFrom[]>(
          `SELECT beginning, longer.* FROM unnest($1::text[]) AS beginning CROSS JOIN LATERAL (
          SELECT word, entries FROM ${vocabulary}
          WHERE word >= beginning COLLATE "C" AND word < (beginning || chr(1114111)) COLLATE "C"
          ORDER BY word LIMIT $2) AS longer`,
          [beginnings, limit],
          { prepare: true },
        ),
      );
    },
  };
}
