import { Command, CommanderError } from 'commander';
import { accountDataCommands } from './account-data/commands.ts';
import { accountCommands } from './accounts/commands.ts';
import { memberCommands } from './dashboard/account/commands.ts';
import { suspensionCommands } from './dashboard/account/suspension.ts';
import { debtCommands } from './debts/commands.ts';
import { directoryCommands } from './directory/commands.ts';
import { messageOf } from './errors.ts';
import { keyCommands } from './keys/commands.ts';
import { recordCommands } from './lookup/commands.ts';
import { withoutSecrets } from './observability/redaction.ts';
import { serviceCommands } from './service/commands.ts';
import { EXIT_USAGE, fail, leave } from './terminal/command.ts';

/** `bun directory …`: every command of the service (contract, Command line). */
export function createProgram(): Command {
  const program = new Command('directory')
    .usage('COMMAND [options]')
    .description('The company directory: its server, accounts, keys, directory files and search index.')
    .helpCommand(false)
    // Messages about wrong usage repeat the typed text.
    .configureOutput({ writeErr: (text) => process.stderr.write(withoutSecrets(text)) });
  serviceCommands(program);
  accountCommands(program);
  memberCommands(program);
  suspensionCommands(program);
  accountDataCommands(program);
  keyCommands(program);
  directoryCommands(program);
  recordCommands(program);
  debtCommands(program);
  exitWithOurCodes(program);
  return program;
}

/** Commander ends with 1 for wrong usage; the contract says 2. */
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

if (import.meta.main) {
  // The reader of the answer may have ended (`| head`), or the disk is full. That is one line, not a stack.
  process.stdout.on('error', (error) => fail(`the answer could not be written: ${messageOf(error)}`));
  await runProgram(process.argv.slice(2));
  await leave();
}
