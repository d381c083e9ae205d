import type { Sql } from '../../platform/postgres/connect.ts';
import { type Bound, withTimeout } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';
import { openCurrent } from './current.ts';

/** The legal names of companies by NIF. A NIF that the directory doesn't have is absent. */
export type CompanyNames = (nifs: string[]) => Promise<ReadonlyMap<string, string>>;

const TIMEOUT_MS = 2 * SECOND;

/** Reads the names of a list of companies by one query of the directory. @param sql the dashboard's pool */
export function createCompanyNames(sql: Sql): CompanyNames {
  const current = openCurrent(sql, null);
  return async (nifs) => {
    const find = (bound: Bound) =>
      current.read(
        ({ table }) =>
          bound(sql<{ nif: string; name: string }[]>`
            SELECT nif, legal_name AS name FROM ${sql(table)} WHERE nif = ANY (${nifs}::text[])`),
        bound,
      );
    const rows = await withTimeout(find, TIMEOUT_MS, 'Postgres');
    return new Map(rows.map(({ nif, name }) => [nif, name]));
  };
}
