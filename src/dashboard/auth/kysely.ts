import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type postgres from 'postgres';
import type { Sql, Transaction } from '../../postgres/connect.ts';

/**
 * Kysely, which better-auth queries by, on our postgres.js pool.
 *
 * `kysely-postgres-js` reserves a connection for every query. postgres.js takes a reserved connection that broke for an open
 * one, so that after a restart of Postgres every later query fails. Queries here go through the pool, and transactions
 * through `sql.begin`; both survive a restart (test/dashboard/outages.test.ts).
 */
export function kyselyDialect(sql: Sql): Dialect {
  return {
    createDriver: () => ({
      init: async () => {},
      acquireConnection: async () => new PoolConnection(sql),
      beginTransaction: (connection) => (connection as PoolConnection).begin(),
      commitTransaction: (connection) => (connection as PoolConnection).end(),
      rollbackTransaction: (connection) => (connection as PoolConnection).end(new RolledBack()),
      releaseConnection: async () => {},
      destroy: async () => {},
    }),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

/** One of Kysely's connections: the pool itself or, within a transaction, the pool's transaction. */
class PoolConnection implements DatabaseConnection {
  #sql: Sql | Transaction;
  readonly #pool: Sql;
  /** Lets `sql.begin` commit, or roll back if given an error. It settles with the transaction. */
  #finish: (error?: Error) => Promise<unknown> = async () => {};

  constructor(pool: Sql) {
    this.#pool = pool;
    this.#sql = pool;
  }

  /** Resolves when the transaction has begun; it stays open until {@link end}. */
  begin(): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = this.#pool.begin((transaction) => {
        const { promise, resolve: commit, reject: rollBack } = Promise.withResolvers<void>();
        this.#sql = transaction;
        this.#finish = (error) => {
          if (error === undefined) commit();
          else rollBack(error);
          return done;
        };
        resolve();
        return promise;
      });
      // An error before the transaction has begun; later ones reach `end`.
      done.catch(reject);
    });
  }

  async end(error?: Error): Promise<void> {
    this.#sql = this.#pool;
    await this.#finish(error).catch((reason: unknown) => {
      if (!(reason instanceof RolledBack)) throw reason;
    });
  }

  async executeQuery<Row>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const values = parameters as postgres.ParameterOrJSON<number>[];
    const result = await this.#sql.unsafe(text, values, { prepare: true });
    return { rows: [...result] as Row[], numAffectedRows: BigInt(result.count) };
  }

  // biome-ignore lint/correctness/useYield: there is nothing to yield
  async *streamQuery() {
    throw new Error('better-auth streams nothing');
  }
}

class RolledBack extends Error {}
