import type { Sql } from '../../src/platform/postgres/connect.ts';
import { until } from '../support/until.ts';

/**
 * Holds every statement that writes a session of the dashboard at the given point.
 * @param during told how to wait until one is held, and how to let all go on
 */
export async function pausing(
  sql: Sql,
  point: 'BEFORE INSERT' | 'AFTER DELETE',
  during: (reached: () => Promise<void>, go: () => Promise<void>) => Promise<void>,
) {
  const LOCK = 4711;
  // Longer than the service waits for other locks.
  await sql.unsafe(`
    CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = '10s' AS
    $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${LOCK}); RETURN NEW; END $$;
    CREATE TRIGGER pause ${point} ON dashboard_sessions FOR EACH ROW EXECUTE FUNCTION pause()`);
  const holder = await sql.reserve();
  await holder`SELECT pg_advisory_lock(${LOCK})`;
  let isHeld = true;
  const go = async () => {
    if (isHeld) await holder`SELECT pg_advisory_unlock(${LOCK})`;
    isHeld = false;
  };
  const reached = () =>
    until(
      'the pause',
      async () =>
        (
          await sql`
            SELECT 1 FROM pg_locks
            WHERE locktype = 'advisory' AND objid = ${LOCK} AND NOT granted
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
        ).length > 0,
      5000,
    );
  try {
    await during(reached, go);
  } finally {
    await go();
    holder.release();
    await sql.unsafe('DROP TRIGGER pause ON dashboard_sessions; DROP FUNCTION pause()');
  }
}
