import { Command, CommanderError } from 'commander';
import { backupCommands } from './backup/backup-commands.ts';
import { debtCommands } from './companies/debts/debts-commands.ts';
import { directoryCommands } from './companies/directory/directory-commands.ts';
import { recordCommands } from './companies/lookup/lookup-commands.ts';
import { memberCommands } from './dashboard/account/member-commands.ts';
import { accountDataCommands } from './dashboard/account-data/account-data-commands.ts';
import { accountCommands } from './metering/accounts/account-commands.ts';
import { activityCommands } from './metering/activity/activity-commands.ts';
import { keyCommands } from './metering/keys/key-commands.ts';
import { withoutSecrets } from './platform/observability/redaction.ts';
import { EXIT_USAGE, fail, runToExit } from './platform/terminal/command.ts';
import { VERSION } from './platform/version.ts';
import { serviceCommands } from './service/service-commands.ts';

/** `bun directory …`: every command of the service (docs/commands.md). */
export function createProgram(): Command {
  const program = new Command('directory')
    .usage('COMMAND [options]')
    .description('The company directory: its server, accounts, keys, directory files and search index.')
    .version(VERSION, '--version', 'print the version')
    .helpCommand(false)
    // Messages about wrong usage repeat the typed text.
    .configureOutput({ writeErr: (text) => process.stderr.write(withoutSecrets(text)) });
  serviceCommands(program);
  accountCommands(program);
  activityCommands(program);
  memberCommands(program);
  accountDataCommands(program);
  keyCommands(program);
  directoryCommands(program);
  recordCommands(program);
  debtCommands(program);
  backupCommands(program);
  exitWithOurCodes(program);
  return program;
}

/** Commander ends with 1 for wrong usage; docs/commands.md says 2. */
function exitWithOurCodes(command: Command): void {
  command.exitOverride().showHelpAfterError('(add --help for what this command takes)');
  for (const child of command.commands) exitWithOurCodes(child);
}

/** Runs the command that `words` are, and sets the exit code. */
export async function runProgram(words: string[]): Promise<void> {
  try {
    await createProgram().parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
    else fail(error);
  }
}

if (import.meta.main) await runToExit(() => runProgram(process.argv.slice(2)));
