import type { Command } from 'commander';
import { type ActionArguments, type CommandTools, defineCommand, print } from './command.ts';
import { printableJson, tableWriter } from './text.ts';

/** A column of a table: its heading, and the text of a row. */
export type ListColumn<Row> = [heading: string, cell: (row: Row) => string];

/**
 * Defines the action of a command whose answer is a list without a bound. It prints each page of rows when it has been read, so it may
 * fail in the middle. `--json` prints one JSON document, too.
 *
 * @param answer for {@link defineCommand}
 * @param read the pages; its failure before the first one prints nothing on stdout
 * @param tableOrder sorts each page of the table; `--json` keeps the order of `read`
 */
export function defineList<Row extends object>(
  command: Command,
  answer: string,
  read: (tools: CommandTools, ...args: ActionArguments) => AsyncIterable<Row[]>,
  columns: ListColumn<Row>[],
  tableOrder?: (a: Row, b: Row) => number,
): Command {
  return defineCommand(command, answer, async (tools, ...args) => {
    const { json = false } = command.opts<{ json?: boolean }>();
    const write = tableWriter();
    const heading = columns.map(([heading]) => heading);
    let isFirst = true;
    for await (const rows of read(tools, ...args)) {
      const cells = rows.toSorted(tableOrder ?? (() => 0)).map((row) => columns.map(([, cell]) => cell(row)));
      await print(
        json
          ? (isFirst ? '[' : ',') + rows.map((row) => printableJson(row)).join(',')
          : `${write(isFirst ? [heading, ...cells] : cells)}\n`,
      );
      isFirst = false;
    }
    if (json) await print(isFirst ? '[]\n' : ']\n');
    else if (isFirst) await print(`${write([heading])}\n`);
  });
}
