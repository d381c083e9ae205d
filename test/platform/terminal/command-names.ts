import type { Command } from 'commander';
import { importMain } from '../../support/whole.ts';

/** Each command that ends by itself, by its words. */
function namesOf(command: Command, words: string[] = []): string[] {
  if (command.commands.length === 0) return words[0] === 'serve' ? [] : [words.join(' ')];
  return command.commands.flatMap((child) => namesOf(child, [...words, child.name()]));
}

/** The commands of the program that end by themselves. */
export async function commandNames(): Promise<string[]> {
  const { createProgram } = await importMain();
  return namesOf(createProgram()).toSorted();
}
