/** Prints the table of rules in docs/operating.md; `bun docs/rules.ts --write` puts it into that file. */
import { join } from 'node:path';

const FILE = join(import.meta.dir, 'operating.md');
const RULES = join(import.meta.dir, '../deploy/prometheus/rules.yml');
const TABLE = /^\| rule, or line of the log .*\n(?:\|.*\n)+/m;

export interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: {
    summary: string;
    /** The line that the service logs then. */
    log?: string;
    cause: string;
    action: string;
    runbook: string;
  };
}

export async function readRules(): Promise<Rule[]> {
  const { groups } = Bun.YAML.parse(await Bun.file(RULES).text()) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** The Markdown table of all rules, as the formatter pads it. Each has the anchor that its `runbook` names. */
export async function rulesTable(): Promise<string> {
  const rows = (await readRules()).map(({ alert, annotations: { log, cause, action } }) => [
    `<a id="${alert.toLowerCase()}"></a>\`${alert}\`${log === undefined ? '' : `, \`${log}\``}`,
    cause,
    action,
  ]);
  const table = [['rule, or line of the log', 'cause', 'what to do'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]!.length)));
  const line = (cells: string[]) => `| ${cells.join(' | ')} |\n`;
  const [head, ...body] = table.map((row) => line(row.map((cell, column) => cell.padEnd(widths[column]!))));
  return `${head}${line(widths.map((width) => '-'.repeat(width)))}${body.join('')}`;
}

if (import.meta.main) {
  const table = await rulesTable();
  if (process.argv.includes('--write'))
    await Bun.write(
      FILE,
      (await Bun.file(FILE).text()).replace(TABLE, () => table),
    );
  else process.stdout.write(table);
}
