import type { Command } from 'commander';

/** The program's command of that name, made if it isn't there: two features can put words under one. */
export function subcommand(program: Command, name: string, description: string): Command {
  return (
    program.commands.find((command) => command.name() === name) ??
    program.command(name).description(description)
  );
}
