import { afterAll, afterEach } from 'bun:test';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import type { Plan, Subscription } from '../../../src/metering/accounts/plan.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';

/**
 * An account as if it had been made at an instant of the past: its stored period is the one of then, so that a test can
 * walk through the following ones with a {@link TestClock}.
 *
 * @returns its id
 */
export async function createAccountAt(
  sql: Sql,
  at: Date,
  account: { plan: Plan; included?: number } & Subscription,
): Promise<string> {
  const { id } = await createAccount(sql, { name: 'Test', ...account }, 'test');
  await sql`
    UPDATE balances SET period_plan = (p).plan, period_start = (p).starts_at, period_end = (p).ends_at,
      included_credits = ${account.included ?? null}
    FROM (SELECT account_period(plan, plan_since, plus_anchor, plus_until, ${at}) AS p
          FROM balances WHERE account_id = ${id}) AS opened
    WHERE account_id = ${id}`;
  return id;
}

/** Postgres's clock, which stands where the test puts it. */
export interface TestClock {
  /** The instant that it was put at last. */
  now(): Date;
  set(text: string): Promise<void>;
}

/**
 * A database for the tests of a file, whose {@link TestClock} goes on after each test. It takes the place of `now()` in statements.
 * `clock_timestamp()` and the defaults of columns stay real.
 */
export async function createClockedDatabase(name: string): Promise<Sql> {
  const database = await createTestDatabase(name);
  await installTestClock(database.url);
  afterEach(() => releaseTestClock(database.sql));
  afterAll(() => database.drop());
  return database.sql;
}

/** Only connections that are opened afterwards see the clock. */
async function installTestClock(url: string): Promise<void> {
  const sql = connectPostgres(url, { max: 1 });
  await sql.unsafe(`
    CREATE SCHEMA test_clock;
    CREATE TABLE test_clock.stopped (at timestamptz);
    INSERT INTO test_clock.stopped VALUES (NULL);
    CREATE FUNCTION test_clock.now() RETURNS timestamptz STABLE LANGUAGE sql AS
      'SELECT coalesce(at, pg_catalog.now()) FROM test_clock.stopped'`);
  const [row] = await sql<{ database: string }[]>`SELECT current_database() AS database`;
  await sql`ALTER DATABASE ${sql(row!.database)} SET search_path = test_clock, pg_catalog, public`;
  await sql.end();
}

/** Puts the clock at an instant, until {@link releaseTestClock}. */
export async function createTestClock(sql: Sql, text: string): Promise<TestClock> {
  let at: Date;
  const set = async (next: string) => {
    at = new Date(next);
    await sql`UPDATE test_clock.stopped SET at = ${at}`;
  };
  await set(text);
  return { now: () => at, set };
}

/** Lets `now()` be the real time again. */
async function releaseTestClock(sql: Sql): Promise<void> {
  await sql`UPDATE test_clock.stopped SET at = NULL`;
}
