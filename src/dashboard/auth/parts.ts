import type { Config } from '../../platform/config/config.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { FormContext, FormTools } from '../request/context.ts';
import type { Mailer } from './mail.ts';

/** The parts that sign-ins and mails work with. */
export interface AuthParts {
  /** The dashboard's own pool. */
  sql: Sql;
  config: Config;
  /** The service's own address. Links are made from it alone. */
  publicUrl: string;
  log: Log;
  /** Signs sessions. Keys for other uses are derived from it (csrf.ts). */
  secret: string;
  /** `null` means that no mail is sent. */
  mailer: Mailer | null;
}

/** A request for a page, as limits and mails need it. */
export interface AuthContext extends FormContext {
  tools: FormTools & AuthParts;
}
