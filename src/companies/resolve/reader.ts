import type { Bound } from '../../platform/runtime/timeout.ts';
import type { Candidate } from './order.ts';
import type { Read } from './reads.ts';
import type { VocabularyReader } from './vocabulary.ts';

/** Reads one directory, which does not change meanwhile. */
export interface DirectoryReader extends VocabularyReader {
  /** The entries of each read. */
  find(reads: Read[]): Promise<Candidate[][]>;
}

/**
 * Runs `work` with a reader of the current directory, and again if the directory was replaced meanwhile.
 * @throws when the directory can't be read
 */
export type WithReader = <T>(work: (reader: DirectoryReader) => Promise<T>, bound: Bound) => Promise<T>;
