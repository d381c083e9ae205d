import type { Sql } from '../../../platform/postgres/connect.ts';

/** Changes are kept for this many days. */
export const KEPT_DAYS = 90;

/** Changes that one statement removes: a few milliseconds. */
const STEP_CHANGES = 1_000;

/**
 * Removes changes of over {@link KEPT_DAYS} days, oldest first, in small steps. Each step records how far it came, in the
 * statement that removes them. So a reader whose place is gone gets a problem. While an import or another instance holds the
 * row of numbers, nothing is removed.
 * @returns how many
 */
export async function purgeChanges(sql: Sql, atOnce = STEP_CHANGES): Promise<number> {
  let removed = 0;
  for (;;) {
    const [row] = await sql<{ removed: number }[]>`
      WITH numbers AS MATERIALIZED (
        SELECT purged FROM debt_change_numbers FOR UPDATE SKIP LOCKED
      ), oldest AS (
        SELECT first.kind, first.number, first.at
        FROM numbers, unnest('{tax,social-security}'::text[]) AS part (kind) CROSS JOIN LATERAL (
          SELECT * FROM debt_changes change WHERE change.kind = part.kind AND change.number > numbers.purged
          ORDER BY change.number LIMIT ${atOnce}
        ) AS first
        ORDER BY number LIMIT ${atOnce}
      ), gone AS (
        DELETE FROM debt_changes change USING oldest
        WHERE change.kind = oldest.kind AND change.number = oldest.number
          AND oldest.at < now() - ${KEPT_DAYS} * interval '1 day'
        RETURNING change.number
      ), noted AS (
        UPDATE debt_change_numbers SET purged = (SELECT max(number) FROM gone) WHERE EXISTS (SELECT FROM gone)
      )
      SELECT count(*) AS removed FROM gone`;
    removed += row!.removed;
    if (row!.removed < atOnce) return removed;
  }
}
