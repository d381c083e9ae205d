import mappingFile from '../../search-mappings/companies.json' with { type: 'json' };
import { normalizationFingerprint, normalizeName, sortKey } from '../companies/name.ts';

/** One directory entry as both stores keep it: a row of Postgres, a document of Elasticsearch. */
export interface SearchDocument {
  /** Nine digits. */
  nif: string;
  /** As it is answered. */
  legal_name: string;
  /** What queries are compared with (contract, choice 5). */
  normalized_name: string;
  /** What results are ordered by, as UTF-8 bytes (contract, choice 6). */
  sort_key: string;
}

/**
 * The one place where an entry's searchable form is computed.
 *
 * A legal name has at most 500 characters (contract, Files), of which each becomes at most 33 bytes of UTF-8
 * (U+FDFA): 16,500 bytes, half of what a Lucene term may have. So no name can fail a bulk request.
 */
export function searchDocument(nif: string, legalName: string): SearchDocument {
  return {
    nif,
    legal_name: legalName,
    normalized_name: normalizeName(legalName),
    sort_key: sortKey(legalName),
  };
}

/** Settings and mappings of the index that searches go to, as search-mappings/companies.json has them: a copy. */
export function readMapping(): typeof mappingFile {
  return structuredClone(mappingFile);
}

/** Queries of more code points than this match nothing on the n-gram field. */
export const MAX_GRAM: number = mappingFile.settings.analysis.filter.beginnings.max_gram;

/**
 * 32 hexadecimal digits that change when the mapping file or the normalization of names does. An index keeps it in
 * its `_meta`; one with another fingerprint must be rebuilt.
 */
export function mappingFingerprint(mapping: object = mappingFile): string {
  return new Bun.CryptoHasher('sha256')
    .update(JSON.stringify([mapping, normalizationFingerprint()]))
    .digest('hex')
    .slice(0, 32);
}
