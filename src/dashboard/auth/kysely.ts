import { Kysely, PostgresDialect, type PostgresPoolClient, type TransactionBuilder } from 'kysely';
import type postgres from 'postgres';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';

/**
 * Kysely, which better-auth queries by, on our postgres.js pool.
 *
 * `kysely-postgres-js` reserves a connection for every query. postgres.js takes a reserved connection that broke for an open
 * one, so that after a restart of Postgres every later query fails. Queries here go through the pool, and transactions
 * through `sql.begin`; both survive a restart (test/dashboard/outages.test.ts).
 */
export class PoolKysely extends Kysely<unknown> {
  readonly #pool: Sql;

  constructor(pool: Sql) {
    super({ dialect: dialectOf(pool) });
    this.#pool = pool;
  }

  /** As much of a transaction's builder as better-auth uses. */
  override transaction(): TransactionBuilder<unknown> {
    const execute = (work: (transaction: Kysely<unknown>) => Promise<unknown>) =>
      this.#pool.begin((sql) => work(new Kysely({ dialect: dialectOf(sql) })));
    return { execute } as TransactionBuilder<unknown>;
  }
}

/** Kysely's own dialect, whose queries go to the pool or to one of its transactions. */
function dialectOf(sql: Sql | Transaction): PostgresDialect {
  async function query(text: string, parameters: readonly unknown[]) {
    const values = parameters as postgres.ParameterOrJSON<number>[];
    const result = await sql.unsafe(text, values, { prepare: true });
    return { command: result.command, rowCount: result.count, rows: [...result] };
  }
  const client = { query, release() {} } as unknown as PostgresPoolClient;
  return new PostgresDialect({ pool: { options: {}, connect: async () => client, end: async () => {} } });
}
