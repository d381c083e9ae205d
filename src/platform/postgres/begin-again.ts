import { codeOf } from '../errors.ts';

/** Postgres's error code if a statement names a table that was dropped. */
const UNDEFINED_TABLE = '42P01';

/** The most attempts, because a table that never existed gives the same error as one that was replaced. */
const MAX_ATTEMPTS = 4;

/** The data that is being read was replaced, so the read has to begin again. */
export class ReplacedError extends Error {
  override readonly name = 'ReplacedError';
}

/**
 * Reads data whose table may be replaced and dropped in the middle. Then the read begins again, with the table that it finds then.
 * @param read finds the table, and throws {@link ReplacedError} when it was replaced
 */
export async function beginAgain<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      const isReplaced = error instanceof ReplacedError || codeOf(error) === UNDEFINED_TABLE;
      if (!isReplaced || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
