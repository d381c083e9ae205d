/** Reads directory files into the staging table. */

import { copyValue } from '../../platform/postgres/copy.ts';
import type { FileLayout } from '../ingest/staging.ts';
import { cleanName } from '../name.ts';
import { directoryEntry } from '../search/document.ts';

/** The most characters (code points) of a legal name (docs/imports.md: files). */
const MAX_NAME_LENGTH = 500;

export const DIRECTORY_LAYOUT: FileLayout = {
  command: 'companies import',
  columns: ['legal_name'],
  definition: ['legal_name text', 'normalized_name text COLLATE "C"', 'sort_key text COLLATE "C"'],
  read(nif, [nameText]) {
    const name = cleanName(nameText ?? '');
    if (name === '') return { reason: 'no name' };
    if (name.length > MAX_NAME_LENGTH && [...name].length > MAX_NAME_LENGTH) {
      return { reason: `name over ${MAX_NAME_LENGTH} characters` };
    }
    const { normalized, sortKey } = directoryEntry(nif, name);
    return { fields: [name, normalized, sortKey].map(copyValue).join('\t') };
  },
};
