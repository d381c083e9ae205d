import type { Client } from '@elastic/elasticsearch';
import { postgresHosts } from '../config/addresses.ts';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/environment.ts';
import { tlsFault } from '../config/tls.ts';
import { adviceOf, messageOf, RefusedError } from '../errors.ts';
import type { PostgresOptions } from '../postgres/connect.ts';
import { openEmbeddedPostgres } from '../postgres/embedded/embedded.ts';
import { migrate } from '../postgres/migrate.ts';
import { createPools } from '../postgres/pools.ts';
import { createCleanup } from '../runtime/shutdown.ts';
import { withTimeout } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';

export type Stores = Awaited<ReturnType<typeof openStores>>;

export interface StoreOptions {
  signal?: AbortSignal;
  postgres?: PostgresOptions;
  /** Gets one line when the embedded Postgres starts, and for each store that could not be closed. */
  onLog?: (line: string) => void;
  /** Gets one line when a new embedded installation was made; otherwise `onLog` does. */
  onMade?: (line: string) => void;
}

/**
 * Opens the stores of the server and of commands: Postgres (the embedded one if no URL is set), with missing migrations applied under
 * their lock, and the Elasticsearch client if one is configured.
 *
 * @throws RefusedError in one line when Postgres can't be reached, is older than 18 or only reads, or can't be migrated
 * @throws ConfigError when the database's encoding is not UTF-8, or connections do not take our settings
 */
export async function openStores(config: Config, options: StoreOptions = {}) {
  const cleanup = createCleanup((what, error) =>
    options.onLog?.(`closing ${what} failed: ${messageOf(error)}`),
  );
  try {
    let databaseUrl = config.databaseUrl;
    if (databaseUrl === null) {
      const embedded = await openEmbeddedPostgres(config.dataDir, options);
      cleanup.add('the embedded Postgres', () => embedded.close());
      databaseUrl = embedded.url;
      // A command in another folder, or without the `.env`, works on an installation that no service uses.
      const onMade = options.onMade ?? options.onLog;
      if (embedded.madeIn !== null) {
        onMade?.(`made a new embedded installation in ${embedded.madeIn}, because DATABASE_URL is not set`);
      }
    }
    const pools = createPools(databaseUrl, () =>
      options.onLog?.('Postgres has fallen silent: new connections replace the present ones'),
    );
    cleanup.add('Postgres', () => pools.close({ timeout: 2 }));
    const sql = pools.open(options.postgres);
    const server = sql<Server[]>`
      SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
        current_setting('transaction_read_only')::boolean AS "isReadOnly",
        (SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout') AS "statementTimeoutMs"`;
    const rows = await withTimeout(server, 5 * SECOND, 'Postgres').catch((error) => {
      throw new RefusedError(
        `Postgres can't be reached: ${tlsFault(error) ?? withHosts(adviceOf(error), databaseUrl)}: check DATABASE_URL and the server`,
      );
    });
    requireUsable(rows[0]!, options.postgres);
    const migrated = await migrate(databaseUrl, config.databaseUrl === null ? config.dataDir : null);
    const elasticsearch = await openElasticsearch(config);
    if (elasticsearch !== null) cleanup.add('Elasticsearch', () => elasticsearch.close());
    return {
      /** Also of the embedded Postgres. It holds a password. */
      databaseUrl,
      sql,
      /** `null` means search by an index in Postgres. */
      elasticsearch,
      /** Opens another pool of a server process. The stores close it. */
      openPool: pools.open,
      /** Names of the migrations that were applied now. */
      migrated,
      close: () => cleanup.runInReverse(),
    };
  } catch (error) {
    await cleanup.runInReverse();
    throw error;
  }
}

/** Loads the client only if one is configured, because that takes a third of the start of a command. */
async function openElasticsearch(config: Config): Promise<Client | null> {
  if (config.elasticsearchUrl === null) return null;
  return (await import('../elasticsearch/client.ts')).createElasticsearch(config);
}

/** postgres.js names a host by its socket, and the one that speaks TLS has no name. */
function withHosts(message: string, databaseUrl: string): string {
  const hosts = postgresHosts(databaseUrl).map((address) => new URL(address).host);
  return message.replace('undefined:undefined', hosts.join(', '));
}

interface Server {
  /** As 180004 for 18.4. */
  version: number;
  encoding: string;
  isReadOnly: boolean;
  /** As the connection has it. */
  statementTimeoutMs: number;
}

/** The first version whose `RETURNING` tells what a row held before (src/metering/credits/charge-batch.ts). */
const OLDEST_VERSION = 18;

/** No other encoding than UTF-8 stores all names. SQL_ASCII also stores bytes that are no text, and sorts and cuts by bytes. */
function requireUsable(
  { version, encoding, isReadOnly, ...connection }: Server,
  { statementTimeoutMs = 0 }: PostgresOptions = {},
): void {
  if (version < OLDEST_VERSION * 10_000) {
    const found = `${Math.floor(version / 10_000)}.${version % 10_000}`;
    throw new RefusedError(
      `DATABASE_URL leads to Postgres ${found}; the service needs ${OLDEST_VERSION} or newer`,
    );
  }
  if (isReadOnly) {
    throw new RefusedError(
      'DATABASE_URL names a database that only reads, as a standby does: name the primary, or all hosts with commas between them',
    );
  }
  if (encoding !== 'UTF8') {
    throw new ConfigError(
      `DATABASE_URL names a database with the encoding ${encoding}: make another with ` +
        `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    );
  }
  // The bounds and the plans of statements rely on the settings of their connection, which a pooler drops.
  if (connection.statementTimeoutMs !== statementTimeoutMs) {
    throw new ConfigError(
      'DATABASE_URL leads to connections that do not take our settings (statement_timeout): it must have none itself,' +
        ' and name Postgres, not a pooler such as PgBouncer',
    );
  }
}
