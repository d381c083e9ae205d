import type { Client } from '@elastic/elasticsearch';
import type { Config } from '../config.ts';
import type { Sql } from '../postgres/connect.ts';

/** What work on the directory needs; the command line's Tools have it. */
export interface DirectoryContext {
  config: Pick<Config, 'elasticsearchAlias'>;
  sql: Sql;
  /** null: the directory is searched in Postgres. */
  elasticsearch: Client | null;
  /** Ends the work cleanly: nothing changes then. */
  signal: AbortSignal;
  /** Kept with what was done, e.g. `cli:maria`. */
  actor: string;
  /** How long an index is kept after searches have left it, for those that are under way; default 2.5 s. */
  readersLeaveAfterMs?: number;
}

/** In lines of work that must not be given up half-way, and where nobody can interrupt. */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal;
