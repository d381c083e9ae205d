/** Prints a line of a program's results. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Tells on stderr what a program does, so that stdout has only its results. */
export function sayAside(line: string): void {
  process.stderr.write(`${line}\n`);
}
