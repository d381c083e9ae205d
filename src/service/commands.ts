import { aborted } from 'node:util';
import { type Command, Option } from 'commander';
import { readConfig } from '../config/config.ts';
import { defineCommand } from '../terminal/command.ts';
import { watchInterrupts } from '../terminal/interrupt.ts';
import { wholeNumber } from '../terminal/values.ts';
import { orWithoutParent, serveWithWorkers } from './workers.ts';

const WORKERS = wholeNumber({ min: 1, max: 256 });

/** `serve` and `migrate`. */
export function serviceCommands(program: Command): void {
  program
    .command('serve')
    .description('run the service until it is stopped (SIGTERM or Ctrl-C)')
    .option('--workers <n>', 'processes on the one port; above 1 they want REDIS_URL', WORKERS, 1)
    .addOption(new Option('--worker', 'one of several on the port').hideHelp())
    .addHelpText(
      'after',
      '\nExamples:\n  PORT=8080 bun directory serve\n  bun directory serve --workers 4\n\nThe configuration is the environment: see docs/configuration.md.',
    )
    .action(serve);

  defineCommand(
    program
      .command('migrate')
      .description("bring the database's tables up to date (serve does it too)")
      .addHelpText('after', '\nExample:\n  bun directory migrate --json'),
    async ({ migrated }) => ({ applied: migrated }),
    ({ applied }) => (applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`),
  );
}

/** Runs until a signal. A second signal ends it at once. */
async function serve({ workers, worker }: { workers: number; worker?: boolean }): Promise<void> {
  const interrupts = watchInterrupts();
  const signal = worker === true ? orWithoutParent(interrupts.signal) : interrupts.signal;
  if (workers > 1) await serveWithWorkers(readConfig(), workers, signal);
  else {
    // The server's modules take a third of a second to load, so no other command loads them.
    const { startService } = await import('./serve.ts');
    const service = await startService(readConfig(), { signal, sharePort: worker === true });
    await aborted(signal, signal);
    await service.stop();
  }
  process.exit(0);
}
