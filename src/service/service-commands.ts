import { aborted } from 'node:util';
import type { Command } from 'commander';
import { readConfig } from '../platform/config/config.ts';
import { defineCommand } from '../platform/terminal/command.ts';
import { watchInterrupts } from '../platform/terminal/interrupt.ts';

/** `serve` and `migrate`. */
export function serviceCommands(program: Command): void {
  program
    .command('serve')
    .description('run the service until it is stopped (SIGTERM, SIGHUP or Ctrl-C)')
    .addHelpText(
      'after',
      '\nExample:\n  PORT=8080 bun directory serve\n\nThe configuration is the environment: see docs/configuration.md.',
    )
    .action(serve);

  defineCommand(
    program
      .command('migrate')
      .description("bring the database's tables up to date (serve does it too)")
      .addHelpText('after', '\nExample:\n  bun directory migrate --json'),
    '{applied: string[]}',
    async ({ migrated }) => ({ applied: migrated }),
    ({ applied }) => (applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`),
  );
}

/** Runs until a signal. A second signal ends it at once. */
async function serve(): Promise<void> {
  const { signal } = watchInterrupts();
  // The server's modules take a third of a second to load, so no other command loads them.
  const { startService } = await import('./serve.ts');
  const service = await startService(readConfig(), { signal });
  await aborted(signal, signal);
  await service.stop();
  process.exit(0);
}
