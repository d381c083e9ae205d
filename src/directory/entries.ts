/** Directory files as rows of the staging table, and what they change. */
import { cleanName } from '../companies/name.ts';
import { isValidNif, normalizeNif } from '../companies/nif.ts';
import type { RowSource } from '../files/source.ts';
import type { Sql } from '../postgres/connect.ts';
import { copyValue } from '../postgres/copy.ts';
import { STAGING, type StagingPlan } from '../postgres/staging.ts';
import { directoryRow } from '../search/document.ts';
import type { Changes } from './load.ts';
import type { Difference } from './tables.ts';
import { quoted } from './tools.ts';

/** Characters (code points) of a legal name at most (contract, Files). */
const MAX_NAME_LENGTH = 500;

/** How a directory file is read (contract, Files). */
export function directoryPlan(source: RowSource): StagingPlan {
  return {
    title: `reading ${'path' in source ? source.path : 'standard input'}`,
    columns: { required: ['nif', 'legal_name'] },
    definition: 'legal_name text, normalized_name text COLLATE "C", sort_key text COLLATE "C"',
    read([nifText, nameText]) {
      const nif = readNif(nifText ?? '');
      if (nif.length !== 9) return nif;
      const name = cleanName(nameText ?? '');
      if (name === '') return 'no name';
      if (name.length > MAX_NAME_LENGTH && [...name].length > MAX_NAME_LENGTH) {
        return `name over ${MAX_NAME_LENGTH} characters`;
      }
      const { normalized_name, sort_key } = directoryRow(nif, name);
      return { nif, fields: `${copyValue(name)}\t${copyValue(normalized_name)}\t${copyValue(sort_key)}` };
    },
  };
}

/** The NIF's nine digits, or why the text is none. */
export function readNif(text: string): string {
  const nif = normalizeNif(text);
  if (nif === null) return 'NIF is not nine digits';
  return isValidNif(nif) ? nif : 'NIF has a wrong check digit';
}

/** What the staged rows change in a table, for its index. */
export function changesSince(sql: Sql, table: string, replace: boolean, difference: Difference): Changes {
  const present = quoted(table);
  const removed = `
    UNION ALL
    SELECT nif, NULL FROM ${present} present WHERE NOT EXISTS (SELECT FROM ${STAGING} s WHERE s.nif = present.nif)`;
  return {
    sql,
    query: `
      SELECT nif, legal_name FROM ${STAGING} staged WHERE NOT EXISTS
        (SELECT FROM ${present} p WHERE p.nif = staged.nif AND p.legal_name = staged.legal_name)
      ${replace ? removed : ''}`,
    count: difference.imported + difference.removed,
  };
}
