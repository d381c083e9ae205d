import { answerOf } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { openCurrent } from './current.ts';

/** The legal names of companies by NIF. A NIF that the directory doesn't have is absent. */
export type CompanyNames = (nifs: string[]) => Promise<ReadonlyMap<string, string>>;

/** Reads the names of a list of companies by one query of the directory. @param sql the dashboard's pool */
export function createCompanyNames(sql: Sql): CompanyNames {
  const current = openCurrent(sql, null);
  return async (nifs) => {
    const rows = await current.read(({ table }) =>
      answerOf(sql<{ nif: string; name: string }[]>`
        SELECT nif, legal_name AS name FROM ${sql(table)} WHERE nif = ANY (${nifs}::text[])`),
    );
    return new Map(rows.map(({ nif, name }) => [nif, name]));
  };
}
