import type { Sql } from '../../platform/postgres/connect.ts';
import { quoted } from '../../platform/postgres/identifier.ts';
import { type Bound, withTimeout } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';
import { createCurrentReader, foundRows, selectWhileCurrent } from './generation.ts';

/** The legal names of companies by NIF. A NIF that the directory doesn't have is absent. */
export type CompanyNames = (nifs: string[]) => Promise<ReadonlyMap<string, string>>;

const TIMEOUT_MS = 2 * SECOND;

/** Reads the names of a list of companies by one query of the directory. @param sql the dashboard's pool */
export function createCompanyNames(sql: Sql): CompanyNames {
  const read = createCurrentReader(sql, (generation) => {
    const statement = selectWhileCurrent(generation, 'nif, legal_name AS name', {
      found: quoted(generation.table),
      condition: 'nif = ANY ($1::text[])',
    });
    return async (nifs: string[], bound: Bound) =>
      foundRows(await bound(sql.unsafe<{ nif: string; name: string }[]>(statement, [nifs])), 'nif');
  });
  return async (nifs) => {
    const find = (bound: Bound) => read((namesOf) => namesOf(nifs, bound), bound);
    const rows = await withTimeout(find, TIMEOUT_MS, 'Postgres');
    return new Map(rows.map(({ nif, name }) => [nif, name]));
  };
}
