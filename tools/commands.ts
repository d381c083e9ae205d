import { type Command, Help } from 'commander';
import { createProgram } from '../src/main.ts';

const HELP_WIDTH = 110;

/** The table of docs/commands.md: every command, and the answer that its `--help` declares. */
export function commandsTable(): string[][] {
  const commands = createProgram().commands.flatMap((command) =>
    command.commands.length === 0 ? [command] : command.commands,
  );
  const rows = commands.map((command) => [
    `\`${[groupOf(command), command.name()].join(' ').trim()}\``,
    answerOf(command),
  ]);
  return [['command', 'answer'], ...rows];
}

/** The options that docs/commands.md has for all commands. */
const SHARED_OPTIONS = ['--help', '--json'];

/** The text that `--help` of the command prints on a terminal of {@link HELP_WIDTH}, without {@link SHARED_OPTIONS}. */
export function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => HELP_WIDTH });
  command.configureHelp({
    visibleOptions: (shown) =>
      new Help().visibleOptions(shown).filter(({ long }) => !SHARED_OPTIONS.includes(long!)),
  });
  command.outputHelp();
  return help.trim();
}

function groupOf(command: Command): string {
  return command.parent?.parent ? command.parent.name() : '';
}

/** The members of the answer, or the words in their place. */
function answerOf(command: Command): string {
  const [, answer] = /\nAnswer:\n((?: {2}.*(?:\n|$))+)/.exec(helpOf(command)) ?? [];
  if (answer === undefined) return '–';
  const [first] = /^\[?\{[\s\S]*?\}\]?$|^.*$/m.exec(answer.replace(/^ +/gm, ''))!;
  return /^[[{]/.test(first) ? `\`${first.replace(/\s+/g, ' ')}\`` : first;
}
