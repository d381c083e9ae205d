/**
 * Prints the table of docs/metrics.md from the scrape of a service with every store, on standard input.
 * `curl localhost:3000/metrics | bun docs/metrics.ts --write` puts it into that file.
 */
import { join } from 'node:path';

const FILE = join(import.meta.dir, 'metrics.md');
const TABLE = /(^\|.*\n)+/m;

/** The Markdown table of a scrape's metrics, by name, as the formatter pads it. */
export function metricsTable(scrape: string): string {
  const types = new Map(
    [...scrape.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type!]),
  );
  const rows = [...scrape.matchAll(/^# HELP (\w+) (.*)$/gm)]
    .map(([, name, help]) => {
      const type = types.get(name!)!;
      return [`\`${name}\``, type, labelsOf(scrape, name!, type).join(', ') || '–', help!];
    })
    .toSorted(([a], [b]) => (a! < b! ? -1 : 1));
  const table = [['metric', 'type', 'labels', 'meaning'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]!.length)));
  const line = (cells: string[]) => `| ${cells.join(' | ')} |\n`;
  const [head, ...body] = table.map((row) => line(row.map((cell, column) => cell.padEnd(widths[column]!))));
  return `${head}${line(widths.map((width) => '-'.repeat(width)))}${body.join('')}`;
}

function labelsOf(scrape: string, name: string, type: string): string[] {
  const series = type === 'histogram' ? `${name}_count` : name;
  const [, labels = ''] = new RegExp(`^${series}\\{(.*)\\} `, 'm').exec(scrape) ?? [];
  return [...labels.matchAll(/(\w+)="/g)].map(([, label]) => `\`${label}\``);
}

if (import.meta.main) {
  const table = metricsTable(await Bun.stdin.text());
  if (process.argv.includes('--write'))
    await Bun.write(
      FILE,
      (await Bun.file(FILE).text()).replace(TABLE, () => table),
    );
  else process.stdout.write(table);
}
