/** Reads directory files into the staging table, and finds the changes. */
import { cleanName } from '../companies/name.ts';
import { STAGING, type StagingPlan } from '../ingest/staging.ts';
import type { Sql } from '../postgres/connect.ts';
import { copyValue } from '../postgres/copy.ts';
import { quoted } from '../postgres/identifier.ts';
import { directoryRow } from '../search/document.ts';
import type { Changes } from './indexing/load.ts';
import { type Difference, UNCHANGED } from './tables.ts';

/** The most characters (code points) of a legal name (contract, Files). */
const MAX_NAME_LENGTH = 500;

export const DIRECTORY_PLAN: StagingPlan = {
  command: 'companies import',
  columns: ['legal_name'],
  definition: ['legal_name text', 'normalized_name text COLLATE "C"', 'sort_key text COLLATE "C"'],
  read(nif, [nameText]) {
    const name = cleanName(nameText ?? '');
    if (name === '') return { reason: 'no name' };
    if (name.length > MAX_NAME_LENGTH && [...name].length > MAX_NAME_LENGTH) {
      return { reason: `name over ${MAX_NAME_LENGTH} characters` };
    }
    const { normalized_name, sort_key } = directoryRow(nif, name);
    return { fields: `${copyValue(name)}\t${copyValue(normalized_name)}\t${copyValue(sort_key)}` };
  },
};

/** The changes of a table by the staged rows, for its index. */
export function changesSince(sql: Sql, table: string, replace: boolean, difference: Difference): Changes {
  const present = quoted(table);
  const removed = `
    UNION ALL
    SELECT nif, NULL FROM ${present} present WHERE NOT EXISTS (SELECT FROM ${STAGING} s WHERE s.nif = present.nif)`;
  return {
    sql,
    query: `
      SELECT nif, legal_name FROM ${STAGING} staged WHERE NOT EXISTS
        (SELECT FROM ${present} present WHERE ${UNCHANGED})
      ${replace ? removed : ''}`,
    count: difference.imported + difference.removed,
  };
}
