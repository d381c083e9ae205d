/** Prints the table of docs/configuration.md; `bun docs/configuration.ts --write` puts it into that file. */
import { join } from 'node:path';
import { SETTINGS } from '../src/platform/config/config.ts';

const FILE = join(import.meta.dir, 'configuration.md');
const TABLE = /(^\|.*\n)+/m;

/** The Markdown table of all settings, as the formatter pads it. A `*` marks those that can come from a file. */
export function configurationTable(): string {
  const rows = Object.values(SETTINGS).map(({ name, isSecret, fallback, meaning }) => [
    `\`${name}\`${isSecret ? ' *' : ''}`,
    fallback,
    meaning,
  ]);
  const table = [['variable', 'default', 'meaning'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]!.length)));
  const line = (cells: string[]) => `| ${cells.join(' | ')} |\n`;
  const [head, ...body] = table.map((row) => line(row.map((cell, column) => cell.padEnd(widths[column]!))));
  return `${head}${line(widths.map((width) => '-'.repeat(width)))}${body.join('')}`;
}

if (import.meta.main) {
  const table = configurationTable();
  if (process.argv.includes('--write'))
    await Bun.write(FILE, (await Bun.file(FILE).text()).replace(TABLE, table));
  else process.stdout.write(table);
}
