import type { Sql } from '../../postgres/connect.ts';

/** The limit of attempts, and its period. */
export interface Counter {
  key: string;
  windowMs: number;
}

export interface Count {
  attempts: number;
  /** Until the window ends. */
  leftS: number;
}

/**
 * Counts one attempt in each counter, before its outcome is known: attempts at the same time can't all pass a count that
 * none of them has reached. A window begins with its first attempt and has a fixed length.
 *
 * @returns the counts with this attempt, in the order of `counters`
 */
export async function countAttempt(sql: Sql, counters: Counter[]): Promise<Count[]> {
  const keys = counters.map(({ key }) => key);
  const windowsMs = counters.map(({ windowMs }) => windowMs);
  // In the order of the keys, so that two statements never wait for each other.
  const rows = await sql<({ key: string } & Count)[]>`
    INSERT INTO dashboard_attempts AS a (key, attempts, ends_at)
    SELECT key, 1, now() + window_ms * interval '1 millisecond'
    FROM unnest(${keys}::text[], ${windowsMs}::float8[]) AS counter (key, window_ms)
    ORDER BY key
    ON CONFLICT (key) DO UPDATE SET
      attempts = CASE WHEN a.ends_at <= now() THEN 1 ELSE a.attempts + 1 END,
      ends_at = CASE WHEN a.ends_at <= now() THEN excluded.ends_at ELSE a.ends_at END
    RETURNING key, attempts, extract(epoch FROM ends_at - now())::float8 AS "leftS"`;
  return keys.map((key) => rows.find((row) => row.key === key)!);
}

/** Takes back an attempt that was counted, because it succeeded or was refused. */
export async function takeBackAttempt(sql: Sql, counters: Counter[]): Promise<void> {
  await sql`
    UPDATE dashboard_attempts SET attempts = attempts - 1
    WHERE attempts > 0 AND key IN (
      SELECT key FROM dashboard_attempts WHERE key = ANY (${counters.map(({ key }) => key)}::text[])
      ORDER BY key FOR UPDATE)`;
}

/** Forgets the attempts of one counter. */
export async function forgetAttempts(sql: Sql, key: string): Promise<void> {
  await sql`DELETE FROM dashboard_attempts WHERE key = ${key}`;
}
