import { READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import type { DebtKind } from '../debts/kind.ts';
import { digestOf, type FileDigest } from '../file-digest.ts';

/** The data that the service answers from, with its age. */
export interface Datasets {
  directory: DirectoryDataset;
  /** `null` means that no dataset of that kind was ever imported. */
  debts: Record<DebtKind, DebtDataset | null>;
}

export interface DirectoryDataset {
  companies: number;
  /** The instant at which an import last confirmed or changed the rows; `null` means never. */
  updated: Date | null;
  /** The user of that import, e.g. `cli:maria`. */
  by: string | null;
  /** The imported file's name without folders; `-` is standard input; `null` means that it is not known. */
  file: string | null;
  /** That file's bytes; `null` means that they are not known. Loads add to the directory, so it can have more than this file. */
  lastFile: FileDigest | null;
  /** The SHA-256 of what an export writes, 64 hexadecimal digits; `null` means that it is not known. */
  rows: string | null;
}

export interface DebtDataset {
  /** The dataset's own date, `YYYY-MM-DD`. */
  date: string;
  companies: number;
  imported: Date;
  by: string;
  /** The bytes of the file that it is from; `null` means that they are not known. */
  file: FileDigest | null;
  /** The SHA-256 of what an export writes, 64 hexadecimal digits; `null` means that it is not known. */
  rows: string | null;
}

/**
 * Reads the record that the last import left of each dataset, without counting rows.
 * @param bound bounds the wait for Postgres; by default nothing does
 */
export async function readDatasets(sql: Sql, bound: Bound = async (query) => query): Promise<Datasets> {
  const directoryQuery = sql<DirectoryDataset[]>`
    SELECT rows AS companies, loaded_file AS file, ${digestOf(sql, 'loaded_at')} AS "lastFile", rows_sha256 AS rows,
      CASE WHEN rows > 0 THEN coalesce(loaded_at, created_at) END AS updated,
      CASE WHEN rows > 0 THEN coalesce(loaded_by, created_by) END AS by
    FROM directory_generations WHERE id = (SELECT current FROM directory)`;
  const debtsQuery = sql<(DebtDataset & { kind: DebtKind })[]>`
    SELECT kind, to_char(dataset_date, 'YYYY-MM-DD') AS date, rows AS companies, imported_at AS imported, imported_by AS by,
      ${digestOf(sql, 'imported_at')} AS file, CASE WHEN file_at = imported_at THEN rows_sha256 END AS rows FROM debt_datasets`;
  const [[directory], found] = await Promise.all([bound(directoryQuery), bound(debtsQuery)]);
  const debts: Datasets['debts'] = { tax: null, 'social-security': null };
  for (const { kind, ...dataset } of found) debts[kind] = dataset;
  return { directory: directory!, debts };
}

/** @throws when the datasets can't be read */
export type ReadDatasets = () => Promise<Datasets>;

/** Requests of one turn of the event loop share a query, and none waits longer for Postgres than other requests do. */
export function createDatasetsReader(sql: Sql): ReadDatasets {
  const ask = createBatcher(async (requests: null[], bound) => {
    const datasets = await readDatasets(sql, bound);
    return requests.map(() => datasets);
  }, READS);
  return () => ask(null);
}
