/** The file of `--rejects`: the rows that were not imported, and why, as CSV `line,reason,row` (docs/imports.md: files). */

import { csvCell } from '../../platform/csv-cell.ts';
import { openOutputFile } from '../../platform/terminal/output-file.ts';
import { KIB } from '../../platform/units.ts';
import { MAX_RAW_CHARACTERS, type RejectedRow } from './rows.ts';

export type RejectsWriter = Awaited<ReturnType<typeof openRejects>>;

const FLUSH_AT_CHARACTERS = 64 * KIB;

/**
 * Opens a file for rejects.
 * @param signal ends the wait for a pipe, with its reason
 * @param readFrom the file that is being read, which must not be overwritten
 * @throws {FileError} a directory, no permission, no such folder, or the file that is being read
 */
export async function openRejects(path: string, signal: AbortSignal, readFrom?: string) {
  const file = await openOutputFile(path, signal, readFrom);
  let pending = 'line,reason,row\n';

  const flush = async () => {
    await file.append(pending);
    pending = '';
  };
  return {
    /**
     * Adds rows, in the order given. Wait for the promise, so that memory stays flat.
     * @throws {FileError} the disk is full, …
     */
    async write(rejected: Iterable<RejectedRow>): Promise<void> {
      for (const { line, reason, raw } of rejected) {
        pending += `${line},${csvCell(reason)},${csvCell(raw.slice(0, MAX_RAW_CHARACTERS))}\n`;
        if (pending.length >= FLUSH_AT_CHARACTERS) await flush();
      }
    },
    /** Moves the whole file into its place, over the one before. Without rejects it holds the header alone. */
    async finish(): Promise<void> {
      await flush();
      await file.finish();
    },
    close: file.close,
  };
}
