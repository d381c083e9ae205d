import { csvCell } from '../../platform/csv-cell.ts';
import { RefusedError } from '../../platform/errors.ts';
import { batchesOf } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { type CopyWriter, copyInto, copyValue } from '../../platform/postgres/copy.ts';
import { openOutputFile } from '../../platform/terminal/output-file.ts';
import { count, type Progress } from '../../platform/terminal/progress.ts';
import type { FileDigest } from '../file-digest.ts';
import { importedNif, isValidNif } from '../nif.ts';
import type { ColumnNames } from './columns.ts';
import { openRows } from './open-rows.ts';
import { type RejectedRow, type Row, shownRow } from './rows.ts';
import type { RowSource } from './source.ts';

/** The temporary table for a file's usable rows. It ends with its connection. */
export const STAGING = 'staging';

/** A replacement that keeps a smaller share of the present rows is refused, because the file is more likely cut off or wrong. */
export const SMALLEST_REPLACEMENT = 0.9;

/** How the columns of one kind of file are read and staged. Every row has a NIF. */
export interface FileLayout {
  /** The command that imports such files, for advice: `debts import`. */
  command: string;
  /** Columns of the file beside `nif`. */
  columns: readonly string[];
  /** The staging table's columns beside those of all files, e.g. `legal_name text`; in the order of `fields`. */
  definition: readonly string[];
  /**
   * The row's fields in COPY's text format, joined by tabs, or the reason to reject it.
   * @param nif nine digits with a right check digit
   * @param values of `columns`, in their order
   */
  read(nif: string, values: Row['values']): { fields: string } | { reason: string };
}

/** The options for reading a file of any kind (docs/imports.md: files). */
export interface FileOptions {
  /** The file's names of our columns. */
  columns?: ColumnNames | undefined;
  legalPersons?: boolean | undefined;
  /** The path of the file for rejected rows. */
  rejects?: string | undefined;
  dryRun?: boolean | undefined;
}

export interface StagingOptions extends FileOptions {
  signal: AbortSignal;
  progress: Progress;
}

export interface Staged {
  file: FileDigest;
  read: number;
  /** Rows in the staging table, one for a NIF. */
  usable: number;
  rejected: number;
  /** Rejected rows by reason. */
  reasons: Record<string, number>;
}

/** The reason of all rows of a NIF except the last (docs/imports.md: files). */
const COMES_AGAIN = 'NIF comes again later in the file';

/** The reason of the rows that `--legal-persons` skips. Nothing else of them is kept. */
const NATURAL_PERSON = 'NIF of a natural person';

/**
 * NIFs of natural persons begin with 1, 2 or 3, those of non-residents with 45 (docs/imports.md: files). Only the first digits count,
 * so that a mistyped NIF isn't written to the rejects either.
 */
const NATURAL_PERSON_NIF = /^\D*(?:[123]|4\D*5)/;

/** Datasets give natural persons codes, such as `AA923456`. So with `--legal-persons` nothing is kept of a NIF with letters. */
const CODE = /\p{L}/u;

/**
 * Reads a file into the temporary table {@link STAGING} of `connection`, rejecting unusable rows. Rows are streamed, so memory
 * stays constant.
 *
 * @param connection one dedicated connection (openDedicated)
 * @throws FileError when the file can't be read to its end, or the rejects can't be written
 * @throws RefusedError when no row is usable
 */
export async function stageFile(
  connection: Sql,
  source: RowSource,
  layout: FileLayout,
  { rejects: rejectsPath, ...options }: StagingOptions,
): Promise<Staged> {
  const rejects =
    rejectsPath === undefined
      ? null
      : await openOutputFile(rejectsPath, options.signal, 'path' in source ? source.path : '/dev/stdin');
  try {
    const staged = await stageRows(connection, source, layout, rejects?.append, options);
    await rejects?.finish();
    if (staged.usable === 0) throw nothingUsable(staged);
    return staged;
  } finally {
    await rejects?.close();
  }
}

async function stageRows(
  connection: Sql,
  source: RowSource,
  layout: FileLayout,
  writeRejects: ((csv: string) => Promise<void>) | undefined,
  { columns, legalPersons = false, signal, progress }: Omit<StagingOptions, 'rejects'>,
): Promise<Staged> {
  const reader = await openRows(source, ['nif', ...layout.columns], {
    sources: columns,
    command: layout.command,
    signal,
  });
  const staged: Omit<Staged, 'file'> = { read: 0, usable: 0, rejected: 0, reasons: {} };
  let copy: CopyWriter | null = null;
  const countRejected = (reason: string, rows = 1) => {
    if (rows === 0) return;
    staged.rejected += rows;
    staged.reasons[reason] = (staged.reasons[reason] ?? 0) + rows;
  };
  const noFields = layout.definition.map(() => '\\N').join('\t');
  /** Stages a rejected row if the rejects are wanted: superseded rows are known at the end, and the file has the order of lines. */
  const reject = ({ line, reason, raw }: RejectedRow) => {
    countRejected(reason);
    if (writeRejects === undefined) return undefined;
    return copy!.write(`${line}\t\\N\t${noFields}\t${copyValue(raw)}\t${reason}\n`);
  };
  try {
    await connection.unsafe(
      `CREATE TEMPORARY TABLE ${STAGING}
        (line bigint, nif text COLLATE "C", ${layout.definition.join(', ')}, raw text, reason text)`,
    );
    copy = await copyInto(connection, STAGING);
    progress.phase(`reading ${'path' in source ? source.path : 'standard input'}`);
    for await (const batch of reader.batches) {
      // A row that can't be read may be of a natural person, so nothing of it is written.
      for (const row of batch.rejected) await reject(legalPersons ? { ...row, raw: '' } : row);
      for (const row of batch.rows) {
        const nifText = row.values[0] ?? '';
        if (legalPersons && NATURAL_PERSON_NIF.test(nifText)) {
          countRejected(NATURAL_PERSON);
          continue;
        }
        const result = readRow(layout, row);
        let waiting: Promise<void> | undefined;
        if ('reason' in result) {
          const raw = legalPersons && CODE.test(nifText) ? '' : shownRow(row.raw);
          waiting = reject({ line: row.line, reason: result.reason, raw });
        } else {
          const { nif, fields } = result;
          staged.usable++;
          const raw = writeRejects === undefined ? '\\N' : copyValue(shownRow(row.raw));
          waiting = copy.write(`${row.line}\t${nif}\t${fields}\t${raw}\t\\N\n`);
        }
        if (waiting !== undefined) await waiting;
      }
      staged.read += batch.rows.length + batch.rejected.length;
      const { bytesRead, bytesTotal } = reader.progress;
      progress.update(staged.read, bytesTotal === null || bytesTotal === 0 ? null : bytesRead / bytesTotal);
    }
    await copy.finish();
  } catch (error) {
    copy?.abort(error instanceof Error ? error : new Error(String(error)));
    await reader.close();
    throw error;
  }
  await connection.unsafe(`ANALYZE ${STAGING}`);
  const superseded = await rejectSuperseded(connection);
  countRejected(COMES_AGAIN, superseded);
  staged.usable -= superseded;
  if (writeRejects !== undefined) await writeRejected(connection, writeRejects);
  await connection.unsafe(`DELETE FROM ${STAGING} WHERE reason IS NOT NULL`);
  return { ...staged, file: reader.digest() };
}

function readRow(
  layout: FileLayout,
  { values: [nifText, ...values] }: Row,
): { nif: string; fields: string } | { reason: string } {
  const nif = importedNif(nifText ?? '');
  if (nif === null) return { reason: 'NIF is not nine digits' };
  if (!isValidNif(nif)) return { reason: 'NIF has a wrong check digit' };
  const result = layout.read(nif, values);
  return 'reason' in result ? result : { nif, fields: result.fields };
}

/** Rejects all rows of a NIF except the last. @returns their number */
async function rejectSuperseded(connection: Sql): Promise<number> {
  const { count } = await connection.unsafe(`
    UPDATE ${STAGING} SET reason = '${COMES_AGAIN}'
    FROM (SELECT nif, max(line) AS last FROM ${STAGING} WHERE nif IS NOT NULL GROUP BY nif HAVING count(*) > 1) again
    WHERE ${STAGING}.nif = again.nif AND line < last`);
  return count;
}

/** Writes the rows that were not imported, and why, as CSV `line,reason,row` (docs/imports.md: files). */
async function writeRejected(connection: Sql, write: (csv: string) => Promise<void>): Promise<void> {
  await write('line,reason,row\n');
  await connection.begin(async (sql) => {
    const rejected = sql`SELECT line, reason, raw FROM ${sql(STAGING)} WHERE reason IS NOT NULL ORDER BY line`;
    for await (const rows of batchesOf<RejectedRow>(sql, rejected))
      await write(
        rows.map(({ line, reason, raw }) => `${line},${csvCell(reason)},${csvCell(raw)}\n`).join(''),
      );
  });
}

function nothingUsable({ read, reasons }: Staged): RefusedError {
  if (read === 0) return new RefusedError('the file has no rows: nothing has changed');
  const [reason, rows] = byFrequency(reasons)[0]!;
  return new RefusedError(
    `none of the ${count(read)} rows can be used (${count(rows)} times: ${reason}): nothing has changed`,
  );
}

/** `3 (2 no name, 1 NIF is not nine digits)` */
export function describeRejected({ rejected, reasons }: Pick<Staged, 'rejected' | 'reasons'>): string {
  const parts = byFrequency(reasons).map(([reason, rows]) => `${count(rows)} ${reason}`);
  return parts.length === 0 ? count(rejected) : `${count(rejected)} (${parts.join(', ')})`;
}

function byFrequency(reasons: Staged['reasons']): [reason: string, rows: number][] {
  return Object.entries(reasons).sort((a, b) => b[1] - a[1]);
}
