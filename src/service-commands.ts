import type { Command } from 'commander';
import { readConfig } from './config.ts';
import { startService } from './serve.ts';
import { answers } from './terminal/command.ts';

/** `serve` and `migrate`. */
export function serviceCommands(program: Command): void {
  program
    .command('serve')
    .description('run the service until it is stopped (SIGTERM or Ctrl-C)')
    .addHelpText(
      'after',
      '\nExample:\n  PORT=8080 bun directory serve\n\nThe configuration is the environment: see README.md.',
    )
    .action(serve);

  answers(
    program
      .command('migrate')
      .description("bring the database's tables up to date (serve does it too)")
      .addHelpText('after', '\nExample:\n  bun directory migrate --json'),
    async ({ migrated }) => ({ applied: migrated }),
    ({ applied }) => (applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`),
  );
}

/** Runs until a signal; a second one ends it at once. */
async function serve(): Promise<void> {
  const interrupted = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    interrupted.signal.addEventListener('abort', () => resolve());
  });
  const interrupt = () => {
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const service = await startService(readConfig(), { signal: interrupted.signal });
  await stopped;
  await service.stop();
  process.exit(0);
}
