/** The file of `--rejects`: the rows that were not imported, and why, as CSV `line,reason,row` (contract, Files). */
import { openOutputFile, orFileError } from '../terminal/output-file.ts';
import { KIB } from '../units.ts';
import { csvCell } from './cell.ts';
import { MAX_RAW_CHARACTERS, type RejectedRow } from './rows.ts';

export interface RejectsWriter {
  /**
   * Adds rows, in the order given. Wait for the promise, so that memory stays flat.
   * @throws {FileError} the disk is full, …
   */
  write(rejected: Iterable<RejectedRow>): Promise<void>;
  /** Moves the whole file into its place, over the one before. Without rejects it holds the header alone. */
  finish(): Promise<void>;
  /** Closes the file, and removes one that is not finished. */
  close(): Promise<void>;
}

const FLUSH_AT_CHARACTERS = 64 * KIB;

/**
 * Opens a file for rejects.
 * @param readFrom the file that is being read, which must not be overwritten
 * @throws {FileError} a directory, no permission, no such folder, or the file that is being read
 */
export async function openRejects(path: string, readFrom?: string): Promise<RejectsWriter> {
  const file = await openOutputFile(path, readFrom);
  let pending = 'line,reason,row\n';

  const flush = () =>
    orFileError(path, async () => {
      await file.handle.appendFile(pending);
      pending = '';
    });
  return {
    async write(rejected) {
      for (const { line, reason, raw } of rejected) {
        pending += `${line},${csvCell(reason)},${csvCell(raw.slice(0, MAX_RAW_CHARACTERS))}\n`;
        if (pending.length >= FLUSH_AT_CHARACTERS) await flush();
      }
    },
    async finish() {
      await flush();
      await file.finish();
    },
    close: file.close,
  };
}
