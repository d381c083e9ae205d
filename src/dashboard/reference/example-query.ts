import type { Sql } from '../../postgres/connect.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import { SECOND } from '../../units.ts';

const QUERY_TIMEOUT_MS = 1 * SECOND;
/** Names that are searched for a word. */
const NAMES = 100;
/** For a directory without such a word: many Portuguese companies have this one. */
export const FALLBACK_QUERY = 'padaria';

/**
 * A query for examples: the first word of some company's name, so that a customer's first call finds something. It never
 * fails: without an answer of Postgres's in time it is {@link FALLBACK_QUERY}.
 */
export async function exampleQuery(sql: Sql): Promise<string> {
  const names = sql<{ word: string }[]>`
    SELECT split_part(normalized_name, ' ', 1) AS word
    FROM (SELECT normalized_name FROM directory_entries LIMIT ${NAMES}) AS names`;
  const rows = await withTimeout(names, QUERY_TIMEOUT_MS, 'Postgres').catch(() => []);
  // A word of plain letters needs no escape in a shell's line or in an address.
  return rows.find(({ word }) => /^[a-z]{4,12}$/.test(word))?.word ?? FALLBACK_QUERY;
}
