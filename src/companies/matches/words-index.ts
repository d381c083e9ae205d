/** The index over the words of names, from which Postgres answers matches with rare words. */
import { quoted } from '../../platform/postgres/identifier.ts';

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

/**
 * A `tsquery` for names with all of these words. Of a long word it has the first characters only, so names have to be checked.
 * @param words letters and digits only
 * @param beginning of a further word; `null` if there is none
 */
export function wordsCondition(words: readonly string[], beginning: string | null): string {
  const lexemes = words.map((word) => lexeme(word, [...word].length > CUT_LENGTH));
  if (beginning !== null) lexemes.push(lexeme(beginning, true));
  return lexemes.join(' & ');
}

function lexeme(word: string, isBeginning: boolean): string {
  const cut = [...word].slice(0, CUT_LENGTH).join('');
  return `'${cut}'${isBeginning ? ':*' : ''}`;
}
