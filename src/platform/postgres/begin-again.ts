import { codeOf } from '../errors.ts';

/** Postgres's error code if a statement names a table that was dropped. */
const UNDEFINED_TABLE = '42P01';

/** The most attempts, because a table that never existed gives the same error as one that was replaced. */
const MAX_ATTEMPTS = 4;

/**
 * Reads data whose table may be replaced and dropped in the middle. Then the read begins again.
 * @param read finds the table
 */
export async function beginAgain<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      if (codeOf(error) !== UNDEFINED_TABLE || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
