import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type TransactionBuilder,
} from 'kysely';
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

/** Queries in the pool, or in one of its transactions. */
function dialectOf(sql: Sql | Transaction): Dialect {
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql: text, parameters }: CompiledQuery) {
      const values = parameters as postgres.ParameterOrJSON<number>[];
      const result = await sql.unsafe(text, values, { prepare: true });
      return { rows: [...result] as Row[], numAffectedRows: BigInt(result.count) };
    },
    streamQuery: unused,
  };
  return {
    createDriver: () => ({
      init: async () => {},
      acquireConnection: async () => connection,
      beginTransaction: unused,
      commitTransaction: unused,
      rollbackTransaction: unused,
      releaseConnection: async () => {},
      destroy: async () => {},
    }),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

function unused(): never {
  throw new Error('better-auth does not use this');
}
