/** The index over the words of names, from which Postgres answers questions for words. */
import { quoted } from '../../platform/postgres/identifier.ts';
import type { WordGroup } from './generation-reader.ts';

/** Bytes of a lexeme at most. No word of a shorter name needs a cut. */
const LONGEST_LEXEME = 2_046;
/** Characters of a cut word, each of at most 4 bytes. */
const CUT_LENGTH = 64;

/** SQL: the words of a name as a `tsvector`. A cut takes longer than the rest, and hardly any name needs one. */
export const NAME_WORDS = `array_to_tsvector(string_to_array(
  CASE WHEN octet_length(normalized_name) <= ${LONGEST_LEXEME} THEN normalized_name
    ELSE regexp_replace(normalized_name, '([^ ]{${CUT_LENGTH}})[^ ]+', '\\1', 'g') END, ' '))`;

/** The statement that creates the index of a table. @param table its plain name, which begins the name of the index */
export function wordsIndexStatement(table: string): string {
  return `CREATE INDEX ${quoted(`${table}_words`)} ON ${quoted(table)} USING gin (${NAME_WORDS}) WITH (fastupdate = off)`;
}

/** The parameters of {@link selectByWords}: names that have a key of every group, and a word with this beginning. */
export const wordsParameters = (groups: readonly WordGroup[], beginning: string | null) => [
  patternsOf(groups, beginning),
  wordsCondition(groups, beginning),
];

/** Patterns that a name between blanks has, for each word that it must have. */
export function patternsOf(groups: readonly WordGroup[], beginning: string | null): string[] {
  const words = groups.flatMap((keys) => (keys.length === 1 ? keys[0]! : []));
  return [...words.map((word) => `% ${word} %`), ...(beginning === null ? [] : [`% ${beginning}%`])];
}

/** A `tsquery`. Of a long word it has the first characters only, so names have to be checked. */
export function wordsCondition(groups: readonly WordGroup[], beginning: string | null): string {
  const lexemeOf = (word: string) => lexeme(word, [...word].length > CUT_LENGTH);
  const conditions = groups.map(
    (keys) => `(${keys.map((words) => `(${words.map(lexemeOf).join(' & ')})`).join(' | ')})`,
  );
  if (beginning !== null) conditions.push(lexeme(beginning, true));
  return conditions.join(' & ');
}

function lexeme(word: string, isBeginning: boolean): string {
  const cut = [...word].slice(0, CUT_LENGTH).join('');
  return `'${cut}'${isBeginning ? ':*' : ''}`;
}

/** SQL: a name has the patterns $1. */
export const HAS_PATTERNS = `(' ' || normalized_name || ' ' LIKE ALL ($1::text[]))`;

/**
 * SQL: the first names that the index has for the condition $2. Sorting them could take 0.3 s. But a generation's table is filled in the
 * order of results and never changed, and a bitmap scan reads rows in their physical order
 * (https://www.postgresql.org/docs/18/indexes-bitmap-scans.html). A GIN index has no other scan. `(SELECT …)` hides from the
 * planner how many rows to expect.
 */
export function selectByWords(table: string, columns: string, limit: number, check = HAS_PATTERNS): string {
  return `SELECT ${columns} FROM ${quoted(table)}
    WHERE ${NAME_WORDS} @@ (SELECT $2::tsquery) AND ${check} LIMIT ${limit}`;
}
