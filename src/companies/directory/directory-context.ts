import type { Client } from '@elastic/elasticsearch';
import type { Config } from '../../platform/config/config.ts';
import type { Sql } from '../../platform/postgres/connect.ts';

/** The resources of work on the directory; the command line's CommandTools have them. */
export interface DirectoryContext {
  config: Pick<Config, 'elasticsearchPrefix'>;
  databaseUrl: string;
  sql: Sql;
  /** `null` means that the directory is searched in Postgres. */
  elasticsearch: Client | null;
  /** Ends the work before it changes anything. */
  signal: AbortSignal;
  /** The author of the change, e.g. `cli:maria`. */
  actor: string;
}

export const NEVER_ABORTED: AbortSignal = new AbortController().signal;
