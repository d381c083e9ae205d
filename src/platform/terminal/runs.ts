import type { Metrics } from '../observability/metrics.ts';
import type { Sql } from '../postgres/connect.ts';
import { type Bound, withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';

/**
 * Runs the work of a command, and keeps when it began, how long it took, and whether it failed, for {@link observeRuns}. The record of
 * the end is best effort: its failure changes nothing of the outcome.
 *
 * @param command its words, for example `debts import tax`
 */
export async function recordRun<T>(sql: Sql, command: string, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  await sql`
    INSERT INTO command_runs (command, began_at) VALUES (${command}, now())
    ON CONFLICT (command) DO UPDATE SET began_at = now(), milliseconds = NULL, failed = false`;
  const end = (failed: boolean) =>
    withTimeout(
      sql`
        UPDATE command_runs SET failed = ${failed}, milliseconds = ${Math.round(performance.now() - startedMs)},
          succeeded_at = CASE WHEN ${failed} THEN succeeded_at ELSE now() END
        WHERE command = ${command}`,
      SECOND,
      'Postgres',
    ).catch(() => {});
  try {
    const answer = await work();
    await end(false);
    return answer;
  } catch (error) {
    await end(true);
    throw error;
  }
}

interface Run {
  command: string;
  durationS: number | null;
  failed: boolean;
  succeededS: number | null;
}

/** Shows the last run of each command that {@link recordRun} has kept, and since when the database could have had one. */
export function observeRuns(metrics: Metrics, sql: Sql): void {
  const read = async (bound: Bound) => {
    const [created] = await bound(sql<{ createdS: number }[]>`
      SELECT extract(epoch FROM min(applied_at))::float8 AS "createdS" FROM schema_migrations`);
    const runs = await bound(sql<Run[]>`
      SELECT command, milliseconds::float8 / 1000 AS "durationS", failed, extract(epoch FROM succeeded_at)::float8 AS "succeededS"
      FROM command_runs`);
    return { ...created!, runs };
  };
  const of =
    (value: (run: Run) => number | boolean | null) =>
    ({ runs }: Awaited<ReturnType<typeof read>>) =>
      Object.fromEntries(runs.map((run) => [run.command, value(run)]));
  metrics.gaugesOf(
    () => withTimeout(read, SECOND, 'Postgres'),
    [
      {
        name: 'database_created_timestamp_seconds',
        help: 'When the first migration made the database.',
        value: ({ createdS }) => createdS,
      },
      {
        name: 'command_duration_seconds',
        help: 'How long the last run took. A run that goes on, or was killed, has none.',
        label: 'command',
        values: of(({ durationS }) => durationS),
      },
      {
        name: 'command_failed',
        help: '1 if the last run of an import or a backup failed.',
        label: 'command',
        values: of(({ failed }) => failed),
      },
      {
        name: 'command_succeeded_timestamp_seconds',
        help: 'When the latest run that succeeded ended.',
        label: 'command',
        values: of(({ succeededS }) => succeededS),
      },
    ],
  );
}
