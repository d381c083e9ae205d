import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type postgres from 'postgres';
import type { Sql, Transaction } from '../../postgres/connect.ts';

/** One of Kysely's connections: the pool itself or, within a transaction, the pool's transaction. */
interface PoolConnection extends DatabaseConnection {
  transaction: OpenTransaction | null;
}

interface OpenTransaction {
  sql: Transaction;
  /** Lets `sql.begin` commit, or roll back where it is given an error. */
  end(error?: Error): void;
  /** Settles with the transaction. */
  done: Promise<unknown>;
}

/**
 * Kysely, which better-auth speaks, on the service's own postgres.js pool.
 *
 * Not `kysely-postgres-js`: it reserves a connection for every query, and postgres.js puts a reserved connection that
 * has broken back among the open ones, so that one restart of Postgres would fail every later query of the pool. Queries
 * here go through the pool, and transactions through `sql.begin`: both survive it (test/dashboard/outages.test.ts).
 */
export function kyselyDialect(sql: Sql): Dialect {
  return {
    createDriver: () => createDriver(sql),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

function createDriver(sql: Sql): Driver {
  return {
    async init() {},
    async acquireConnection() {
      return createConnection(sql);
    },
    async beginTransaction(connection) {
      await begin(sql, connection as PoolConnection);
    },
    async commitTransaction(connection) {
      await finish(connection as PoolConnection);
    },
    async rollbackTransaction(connection) {
      await finish(connection as PoolConnection, new RolledBack());
    },
    async releaseConnection() {},
    async destroy() {},
  };
}

function createConnection(sql: Sql): PoolConnection {
  const connection: PoolConnection = {
    transaction: null,
    async executeQuery<Row>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const result = await (connection.transaction?.sql ?? sql).unsafe(
        text,
        parameters as postgres.ParameterOrJSON<number>[],
        { prepare: true },
      );
      const rows = [...result] as Row[];
      return result.command === 'SELECT' ? { rows } : { rows, numAffectedRows: BigInt(result.count) };
    },
    // biome-ignore lint/correctness/useYield: there is nothing to yield
    async *streamQuery() {
      throw new Error('better-auth streams nothing');
    },
  };
  return connection;
}

/** Resolves when the transaction has begun; it stays open until {@link finish}. */
function begin(sql: Sql, connection: PoolConnection): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = sql.begin(
      (transaction) =>
        new Promise<void>((commit, rollBack) => {
          const end = (error?: Error) => (error === undefined ? commit() : rollBack(error));
          connection.transaction = { sql: transaction, end, done };
          resolve();
        }),
    );
    // Before the work has begun, this error is why it could not; later errors reach `finish`.
    done.catch(reject);
  });
}

async function finish(connection: PoolConnection, error?: Error): Promise<void> {
  const { transaction } = connection;
  connection.transaction = null;
  transaction?.end(error);
  await transaction?.done.catch((reason: unknown) => {
    if (!(reason instanceof RolledBack)) throw reason;
  });
}

class RolledBack extends Error {}
