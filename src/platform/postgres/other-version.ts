import { RefusedError } from '../errors.ts';

/**
 * The refusal of data that this version neither made nor can go on with. Nothing tells which of two versions is newer.
 *
 * @param dataDir the DATA_DIR of embedded data; `null` means a database that DATABASE_URL names
 * @param reason what differs
 */
export function ofAnotherVersion(dataDir: string | null, reason: string): RefusedError {
  const [data, instead] =
    dataDir === null
      ? ['the database', 'let DATABASE_URL name an empty database']
      : [`the data in DATA_DIR ${dataDir}`, 'set DATA_DIR to a new folder'];
  return new RefusedError(`${data} is of another version (${reason}): start that version, or ${instead}`);
}
