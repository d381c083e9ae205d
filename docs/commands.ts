/** Prints docs/commands.md, from the `--help` of every command; `bun docs/commands.ts --write` writes it. */
import { join } from 'node:path';
import { type Command, Help } from 'commander';
import { createProgram } from '../src/main.ts';

const FILE = join(import.meta.dir, 'commands.md');
const HELP_WIDTH = 110;

const HEAD = `# Commands

Scripts and black-box checks rely on this page.
It has the \`--help\` of every command of \`bun directory …\` (also \`bun run directory …\`), without the options \`--help\` and \`--json\`.

- \`--version\` prints the version alone.
  Options may stand anywhere after the command's words.
- Every command with an answer takes \`--json\`; exports of rows print CSV.
  Stdout then has one JSON document, on failure nothing; a failing \`account export\`, and a list of over 1,000 rows that fails, may break off.
- JSON answers may gain members, never lose one.
- Exit 0 means done, 1 failed, refused or interrupted (Ctrl-C, SIGTERM, SIGHUP), 2 wrong usage or configuration, 130 interrupted twice.
  A stopped \`serve\` ends with 0, and a killed process with 128 and the signal's number, as the shell counts.
  A command whose answer can't be written (full disk, closed stdout) ends within 2 s, with 1.
- Progress goes to stderr, on a terminal as a bar.
- All commands work on the embedded default too, whether or not the server runs.
  The first process starts its Postgres, the last one stops it.
  After a \`kill -9\` the next command recovers.
- A command that makes a new embedded installation says so on stderr, with its path.
- Ids are strings that never begin with \`-\`.
- An instant is RFC 3339, as are \`created\`, \`revoked\` (or null), \`period.start\` and \`period.end\` (exclusive).
- \`index\` is a string (for the embedded default the name of what serves); \`reasons\` are the rejected rows by reason.
- [members.md](members.md) has the rules of accounts, keys and members, [imports.md](imports.md) those of files.

<!-- Written by docs/commands.ts from the declarations of the commands. -->
`;

/** The page, whole. */
export function commandsPage(): string {
  const sections = createProgram().commands.flatMap((command) =>
    command.commands.length === 0
      ? [sectionOf('##', command)]
      : [
          `## ${command.name()}\n\n${sentence(command.description())}\n`,
          ...command.commands.map((child) => sectionOf('###', child)),
        ],
  );
  return [HEAD, ...sections].join('\n');
}

/** The options that the head of the page has for all commands. */
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

function sectionOf(marks: string, command: Command): string {
  const group = command.parent?.parent ? `${command.parent.name()} ` : '';
  return `${marks} ${group}${command.name()}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`;
}

function sentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}

if (import.meta.main) {
  if (process.argv.includes('--write')) await Bun.write(FILE, commandsPage());
  else process.stdout.write(commandsPage());
}
