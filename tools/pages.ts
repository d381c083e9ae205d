/**
 * The pages, tables and files that are made from the code. `bun tools/pages.ts --write` writes them; without it the program names
 * those that differ, and exits with 1 if there is one.
 */
import { join } from 'node:path';
import { commandsTable } from './commands.ts';
import { configurationTable } from './configuration.ts';
import { dashboardText } from './grafana.ts';
import { tableOf } from './table.ts';
import { outcomesTable, problemsTable } from './test-keys.ts';

/** What each file has to be, given what it is. */
const PAGES: Record<string, (text: string) => string> = {
  'docs/commands.md': (text) => withTable(text, commandsTable()),
  'docs/configuration.md': (text) => withTable(text, configurationTable()),
  'docs/test-keys.md': (text) => [problemsTable, outcomesTable].reduce(withTable, text),
  'deploy/grafana/company-directory.json': dashboardText,
};

/** The page with these rows in the place of its table of the same first heading. @throws Error if it has none */
function withTable(page: string, rows: string[][]): string {
  const present = new RegExp(String.raw`^\| ${rows[0]![0]} .*\n(?:\|.*\n)+`, 'm');
  if (!present.test(page)) throw new Error(`there is no table of ${rows[0]![0]}`);
  return page.replace(present, () => tableOf(rows));
}

const isWriting = process.argv.includes('--write');
for (const [path, madeFrom] of Object.entries(PAGES)) {
  const file = Bun.file(join(import.meta.dir, '..', path));
  const text = await file.text();
  const wanted = madeFrom(text);
  if (wanted === text) continue;
  if (isWriting) await file.write(wanted);
  else {
    console.error(`${path} is not what the code says: run bun tools/pages.ts --write`);
    process.exitCode = 1;
  }
}
