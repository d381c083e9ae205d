import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Command } from 'commander';
import type { Sql } from '../postgres/connect.ts';
import { beginSnapshot, copyOut, inBlocks } from '../postgres/copy.ts';
import { withDedicated } from '../postgres/dedicated.ts';
import { type CommandTools, declareAnswer, print, withTools } from './command.ts';
import { openOutputFile } from './output-file.ts';
import { count, type Progress, withProgress } from './progress.ts';
import { filePath } from './values.ts';

/** The rows that an export writes. */
export interface ExportSource {
  /** Their description for the operator: `the tax dataset of 2026-10-31`. */
  name: string;
  rows: number;
  /** The rows as SQL. Its columns are named as those of the file that the import takes. */
  select: string;
}

/**
 * Defines `export` with its option `--output`: rows as CSV in the form that the import takes, all of one moment. Memory stays
 * flat: Postgres writes the CSV, and waits for the reader.
 *
 * @param find finds the rows, in the transaction that reads them
 */
export function defineExport<Options>(
  command: Command,
  find: (sql: Sql, options: Options) => Promise<ExportSource>,
): Command {
  return declareAnswer(command, 'CSV, all of one moment, in the order of NIFs')
    .option(
      '--output <file>',
      'write to a file, packed if it ends in .gz; without it to standard output',
      filePath,
    )
    .action((options: Options & { output?: string }) =>
      withTools((tools) =>
        withProgress(async (progress) => {
          // Before the query: rows that nobody begins to read end in an uncaught error.
          const file =
            options.output === undefined ? null : await openOutputFile(options.output, tools.signal);
          try {
            await exportRows(tools, find, options, file, progress);
          } finally {
            await file?.close();
          }
        }, tools.signal),
      ),
    );
}

type OutputFile = Awaited<ReturnType<typeof openOutputFile>>;

/** @param file `null` means standard output */
function exportRows<Options>(
  tools: CommandTools,
  find: (sql: Sql, options: Options) => Promise<ExportSource>,
  options: Options & { output?: string },
  file: OutputFile | null,
  progress: Progress,
): Promise<void> {
  // In a command alone: postgres.js pauses the connection of a stream that is left early, and only the end of the process closes it.
  return withDedicated(tools, async (sql) => {
    const { name, rows, csv } = await beginSnapshot(sql, async () => {
      const { select, ...found } = await find(sql, options);
      return { ...found, csv: await copyOut(sql, select) };
    });
    progress.note(`${name}: ${count(rows)} companies`);
    progress.phase(`writing ${options.output ?? 'to standard output'}`);
    // The header is a message, too.
    let written = -1;
    const blocks = inBlocks(csv, (messages) => {
      written += messages;
      progress.update(written, rows > 0 ? written / rows : null);
    });
    const write = file === null ? print : file.append;
    const packing = options.output?.endsWith('.gz') ? [createGzip()] : [];
    await pipeline(blocks, ...packing, async (source: AsyncIterable<Buffer>) => {
      for await (const block of source) await write(block);
    });
    await file?.finish();
  });
}
