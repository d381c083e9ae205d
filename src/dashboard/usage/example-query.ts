import type { Sql } from '../../postgres/connect.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import { MINUTE, SECOND } from '../../units.ts';

const LIFE_MS = 10 * MINUTE;
const QUERY_TIMEOUT_MS = 1 * SECOND;
/** Names that are looked at for a word. */
const NAMES = 100;
/** For a directory without such a word: many Portuguese companies have this one. */
export const FALLBACK_QUERY = 'padaria';

/**
 * Queries for examples: the first word of some company's name, so that the first call a customer makes finds something. Kept
 * for ten minutes. It never fails: without an answer of Postgres's in time it is {@link FALLBACK_QUERY}.
 */
export function createExampleQuery(sql: Sql, nowMs = () => performance.now()): () => Promise<string> {
  let kept = { query: FALLBACK_QUERY, untilMs: Number.NEGATIVE_INFINITY };
  return async () => {
    if (nowMs() < kept.untilMs) return kept.query;
    try {
      const rows = await withTimeout(
        sql<{ word: string }[]>`
          SELECT split_part(normalized_name, ' ', 1) AS word
          FROM (SELECT normalized_name FROM directory_entries LIMIT ${NAMES}) AS names`,
        QUERY_TIMEOUT_MS,
        'Postgres',
      );
      // Plain letters stand in a shell's line and in an address as they are.
      const word = rows.map((row) => row.word).find((word) => /^[a-z]{4,12}$/.test(word));
      kept = { query: word ?? FALLBACK_QUERY, untilMs: nowMs() + LIFE_MS };
      return kept.query;
    } catch {
      return FALLBACK_QUERY;
    }
  };
}
