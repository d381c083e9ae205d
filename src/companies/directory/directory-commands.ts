import type { Command } from 'commander';
import { RefusedError } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { type CommandTools, defineCommand } from '../../platform/terminal/command.ts';
import { defineExport, type ExportSource } from '../../platform/terminal/export-command.ts';
import { count, type Progress, withProgress } from '../../platform/terminal/progress.ts';
import { fields, toSecond } from '../../platform/terminal/text.ts';
import type { DebtDataset, DirectoryDataset } from '../datasets/datasets-store.ts';
import type { FileDigest } from '../file-digest.ts';
import { defineImport } from '../ingest/import-command.ts';
import { DIRECTORY_LAYOUT } from './directory-layout.ts';
import { entriesOf, readDirectory } from './generations.ts';
import type { IndexStatus, StatusReport } from './index-status.ts';
import { describeHolder } from './lock.ts';

/**
 * `companies import`, `companies export` and `index …` (docs/commands.md). The modules that use Elasticsearch are imported by
 * these commands alone, because its client takes a third of the start of every command.
 */
export function directoryCommands(program: Command): void {
  const companies = program
    .command('companies')
    .description('the directory of companies, and stored company records');
  importCommand(companies);
  exportCommand(companies);
  const index = program.command('index').description('the index of names that searches use');
  indexCommand(
    index,
    'rebuild',
    'rebuild the search index from Postgres, by the present mapping',
    async (...given) => (await import('./rebuild.ts')).rebuildIndex(...given),
  ).addHelpText(
    'after',
    `
Run it after an upgrade that changed the mapping or the normalization of names, after a restore, when Elasticsearch comes or
goes, and if the index is lost.
Searches see the old index until the new one is complete and checked.

Example:
  bun directory index rebuild`,
  );
  indexCommand(index, 'rollback', 'go back to before the last import, at once', async (...given) =>
    (await import('./rebuild.ts')).rollbackIndex(...given),
  ).addHelpText(
    'after',
    `
Search and Postgres's directory return to what they were before the last import that changed something. There is
nothing to return to then, until the next import.

Example:
  bun directory index rollback --json`,
  );
  defineCommand(
    index.command('status').description('show the current index, its age, and the target of a rollback'),
    `{generation, index, previous, documents, agrees, datasets, running}
agrees tells whether the index has as many documents as the generation has rows, datasets have date, rows, origin
and hashes, and running is the holder of the lock or null. If Elasticsearch doesn't answer, documents and agrees are null.`,
    async (context) => {
      const { statusReport } = await import('./index-status.ts');
      return withProgress((progress) => statusReport(context, progress), context.signal);
    },
    describeStatus,
  ).addHelpText(
    'after',
    `
It also says who imported the directory and the debts, and when, and removes what a killed run has left.

Example:
  bun directory index status`,
  );
}

function importCommand(companies: Command): void {
  const command = companies
    .command('import')
    .description('import a directory file: rows are added and updated')
    .option('--replace', 'make the file the whole directory: companies that it does not have go')
    .option('--force', 'with --replace: also when under 90% of the present rows are left')
    .addHelpText(
      'after',
      `
Examples:
  bun directory companies import companies.csv.gz --replace --rejects rejects.csv
  bun directory companies import changes.jsonl
  jq -c '.[]' entidades.json | bun directory companies import - --columns nif=nifEntidade,legal_name=desigEntidade`,
    );
  defineImport(
    command,
    '{read, imported, unchanged, rejected, removed, index, reasons, milliseconds}',
    DIRECTORY_LAYOUT,
    async (...given) => (await import('./directory-import.ts')).importCompanies(...given),
  );
}

function exportCommand(companies: Command): void {
  const command = companies
    .command('export')
    .description('write the directory as CSV, in the form that the import takes')
    .addHelpText(
      'after',
      `
Examples:
  bun directory companies export > companies.csv
  bun directory companies export --output companies.csv.gz`,
    );
  defineExport(command, findDirectory);
}

function indexCommand(
  index: Command,
  name: string,
  description: string,
  run: (context: CommandTools, progress: Progress) => Promise<IndexStatus>,
): Command {
  return defineCommand(
    index.command(name).description(description),
    '{index, previous, documents}',
    (context) => withProgress((progress) => run(context, progress), context.signal),
    (status) => fields({ ...status }),
  );
}

function describeStatus({ datasets, running, ...status }: StatusReport): string {
  const { directory, debts } = datasets;
  return fields({
    generation: status.generation,
    index: status.index,
    documents: describeDocuments(status),
    previous: status.previous,
    directory: describeDirectory(directory),
    'tax debts': describeDebts(debts.tax),
    'social security debts': describeDebts(debts.socialSecurity),
    ...(running === null ? {} : { running: describeHolder(running) }),
  });
}

function describeDocuments({ documents, agrees }: Pick<StatusReport, 'documents' | 'agrees'>): string {
  if (documents === null) return 'unknown';
  return agrees ? count(documents) : `${count(documents)}, other than the directory: run "index rebuild"`;
}

function describeDirectory({ companies, updated, by, file, lastFile }: DirectoryDataset): string {
  if (updated === null) return 'not imported';
  const from = file === null ? '' : ` from ${file === '-' ? 'standard input' : file}`;
  return `${count(companies)} companies, imported ${toSecond(updated)} by ${by}${from}${describeHash(lastFile)}`;
}

function describeDebts(dataset: DebtDataset | null): string {
  if (dataset === null) return 'not imported';
  const { companies, date, imported, by, file } = dataset;
  return `${count(companies)} companies of ${date}, imported ${toSecond(imported)} by ${by}${describeHash(file)}`;
}

const describeHash = (file: FileDigest | null): string => (file === null ? '' : `, sha256 ${file.sha256}`);

/**
 * The rows of the current generation's table. While an export reads it, imports go on, and the table stays.
 * @throws RefusedError when nothing was ever imported
 */
async function findDirectory(sql: Sql): Promise<ExportSource> {
  const { current } = await readDirectory(sql);
  if (current.rows === 0) throw new RefusedError('the directory has no companies: import a file first');
  return {
    name: 'the directory',
    rows: current.rows,
    select: entriesOf(current.table),
  };
}
