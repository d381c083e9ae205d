/** A Markdown table, as the formatter pads it. The first row is its head. */
export function tableOf(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: string[]) => `| ${cells.join(' | ')} |\n`;
  const padded = rows.map((row) => line(row.map((cell, column) => cell.padEnd(widths[column]!))));
  return padded.toSpliced(1, 0, line(widths.map((width) => '-'.repeat(width)))).join('');
}
