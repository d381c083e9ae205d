import type { Sql } from '../../src/platform/postgres/connect.ts';
import type { Injector } from './inject.ts';

/** Share of the rows of `plans` at which a statement of the service fails. */
const SHARE = 0.05;

/**
 * Lets statements fail as Postgres itself fails them: with an error after some of their rows. The table `plans`, which the queries for
 * keys, credits and accounts join, becomes a view whose rows raise an error now and then, for sessions of the service alone.
 * The number is a sequence's, which no rollback takes back. The function says that it is stable, so that it runs for each row of an
 * answer, behind the joins.
 */
export async function failStatements(sql: Sql): Promise<Injector> {
  await sql.unsafe(`
    CREATE SEQUENCE failed_statements;
    CREATE FUNCTION fail_now_and_then(name text) RETURNS text STABLE LANGUAGE plpgsql AS $$
    BEGIN
      IF random() < ${SHARE} AND current_setting('application_name') = 'company-directory serve' THEN
        PERFORM nextval('failed_statements');
        RAISE EXCEPTION 'failed amid the rows' USING ERRCODE = 'data_exception';
      END IF;
      RETURN name;
    END $$;
    ALTER TABLE plans RENAME TO kept_plans;
    CREATE VIEW plans AS SELECT fail_now_and_then(name) AS name, requests_per_minute, included_credits, api_keys FROM kept_plans`);
  const injector: Injector = {
    faults: new Map(),
    ending: new Set(),
    ended: [],
    async stop() {
      const [row] = await sql<{ failed: number }[]>`SELECT last_value AS failed FROM failed_statements`;
      injector.faults.set('statement failed amid its rows', row!.failed);
      await sql.unsafe('DROP VIEW plans; ALTER TABLE kept_plans RENAME TO plans');
    },
  };
  return injector;
}
