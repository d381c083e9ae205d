import type { Command } from 'commander';

/** The program's command of that name, created if it doesn't exist, so that two features can share a command. */
export function subcommand(program: Command, name: string, description: string): Command {
  return (
    program.commands.find((command) => command.name() === name) ??
    program.command(name).description(description)
  );
}
