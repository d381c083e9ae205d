import type { Config } from '../../platform/config/config.ts';
import type { CommandTools } from '../../platform/terminal/command.ts';

/** The resources of work on the directory. `signal` ends the work before it changes anything. */
export interface DirectoryContext
  extends Pick<CommandTools, 'databaseUrl' | 'sql' | 'elasticsearch' | 'signal' | 'actor'> {
  config: Pick<Config, 'elasticsearchPrefix'>;
}

export const NEVER_ABORTED: AbortSignal = new AbortController().signal;
