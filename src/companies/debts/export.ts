import { RefusedError } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { ExportSource } from '../../platform/terminal/export-command.ts';
import type { DebtKind } from './kind.ts';

/** The present dataset of a kind. @throws RefusedError when none was ever imported */
export async function findDataset(sql: Sql, { kind }: { kind: DebtKind }): Promise<ExportSource> {
  const [dataset] = await sql<{ date: string; rows: number }[]>`
    SELECT dataset_date::text AS date, rows FROM debt_datasets WHERE kind = ${kind}`;
  if (dataset === undefined) throw new RefusedError(`no ${kind} dataset was ever imported`);
  return {
    name: `the ${kind} dataset of ${dataset.date}`,
    rows: dataset.rows,
    select: `SELECT nif, start_amount AS start, end_amount AS end FROM debts WHERE kind = '${kind}' ORDER BY nif`,
  };
}
