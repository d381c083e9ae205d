/** The vocabulary of a generation: every word of its names, and how many entries have it. */
import { quoted } from '../../platform/postgres/identifier.ts';
import { NAME_WORDS } from '../search/words-index.ts';
import { MAX_KEY_LENGTH } from './words.ts';

/** The end of a vocabulary's name, behind the name of its generation's table. */
export const VOCABULARY = '_vocabulary';

/** The plain name of the vocabulary of a table. */
export const vocabularyOf = (table: string) => table + VOCABULARY;

/** The statements that make the vocabulary of a filled table, in one pass over it. */
export function vocabularyStatements(table: string): string[] {
  const vocabulary = vocabularyOf(table);
  return [
    `CREATE TABLE ${quoted(vocabulary)} AS
      SELECT word COLLATE "C" AS word, count(*)::integer AS entries
      FROM ${quoted(table)} CROSS JOIN unnest(tsvector_to_array(${NAME_WORDS})) AS word
      WHERE char_length(word) <= ${MAX_KEY_LENGTH}
      GROUP BY 1 ORDER BY 1`,
    `CREATE UNIQUE INDEX ${quoted(`${vocabulary}_pkey`)} ON ${quoted(vocabulary)} (word)`,
    `ANALYZE ${quoted(vocabulary)}`,
  ];
}
