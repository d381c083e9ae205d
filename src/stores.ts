import type { Client } from '@elastic/elasticsearch';
import type { Config } from './config.ts';
import { createElasticsearch } from './elasticsearch/client.ts';
import { ConfigError } from './environment.ts';
import { messageOf, RefusedError } from './errors.ts';
import { connectPostgres, type PostgresOptions, type Sql } from './postgres/connect.ts';
import { openEmbeddedPostgres } from './postgres/embedded/embedded.ts';
import { migrate } from './postgres/migrate.ts';
import { createCleanup } from './runtime/shutdown.ts';
import { withTimeout } from './runtime/timeout.ts';
import { tlsFault } from './tls.ts';
import { SECOND } from './units.ts';

/** The two stores that both the server and the commands work on. */
export interface Stores {
  sql: Sql;
  /** `null` means search by an index in Postgres. */
  elasticsearch: Client | null;
  /** The address of Postgres with its password. Never log it. */
  databaseUrl: string;
  /** Names of the migrations that were applied now. */
  migrated: string[];
  close(): Promise<void>;
}

export interface OpenOptions {
  signal?: AbortSignal;
  postgres?: PostgresOptions;
  /** Gets one line when the embedded Postgres starts, and for each store that could not be closed. */
  onLog?: (line: string) => void;
}

/**
 * Opens Postgres (the embedded one if no URL is set), applies missing migrations under their lock, and makes the
 * Elasticsearch client if one is configured.
 *
 * @throws RefusedError in one line when Postgres can't be reached
 * @throws ConfigError when the database's encoding is not UTF-8
 */
export async function openStores(config: Config, options: OpenOptions = {}): Promise<Stores> {
  const cleanup = createCleanup((what, error) =>
    options.onLog?.(`closing ${what} failed: ${messageOf(error)}`),
  );
  try {
    let databaseUrl = config.databaseUrl;
    if (databaseUrl === null) {
      const embedded = await openEmbeddedPostgres(config.dataDir, options);
      cleanup.add('the embedded Postgres', () => embedded.close());
      databaseUrl = embedded.url;
    }
    const sql = connectPostgres(databaseUrl, options.postgres);
    cleanup.add('Postgres', () => sql.end({ timeout: 2 }));
    const encoding = sql<{ encoding: string }[]>`SELECT current_setting('server_encoding') AS encoding`;
    const rows = await withTimeout(encoding, 5 * SECOND, 'Postgres').catch((error) => {
      throw new RefusedError(
        `Postgres can't be reached: ${tlsFault(error) ?? messageOf(error)}: check DATABASE_URL and the server`,
      );
    });
    requireUtf8(rows[0]!.encoding);
    const migrated = await migrate(sql);
    const elasticsearch = createElasticsearch(config);
    if (elasticsearch !== null) cleanup.add('Elasticsearch', () => elasticsearch.close());
    return { sql, elasticsearch, databaseUrl, migrated, close: () => cleanup.runInReverse() };
  } catch (error) {
    await cleanup.runInReverse();
    throw error;
  }
}

/** No other encoding stores all names. SQL_ASCII also stores bytes that are no text, and sorts and cuts by bytes. */
function requireUtf8(encoding: string): void {
  if (encoding === 'UTF8') return;
  throw new ConfigError(
    `DATABASE_URL names a database with the encoding ${encoding}: make another with ` +
      `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
  );
}
