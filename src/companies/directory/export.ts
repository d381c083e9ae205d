import { RefusedError } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import type { ExportSource } from '../../platform/terminal/export-command.ts';
import { readDirectory } from './generations.ts';

/**
 * The rows of the current generation's table. While an export reads it, imports go on, and the table stays.
 * @throws RefusedError when nothing was ever imported
 */
export async function findDirectory(sql: Sql): Promise<ExportSource> {
  const { current } = await readDirectory(sql);
  if (current.rows === 0) throw new RefusedError('the directory has no companies: import a file first');
  return {
    name: 'the directory',
    rows: current.rows,
    select: `SELECT nif, legal_name FROM ${quoted(current.tableName)} ORDER BY nif`,
  };
}
