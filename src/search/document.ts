import mappingFile from '../../search-mappings/companies.json' with { type: 'json' };
import { normalizationFingerprint, normalizeName, sortKey } from '../companies/name.ts';

/** A company as searches find it. */
export interface SearchEntry {
  /** Nine digits. */
  nif: string;
  legalName: string;
}

/** One directory entry as Postgres keeps it. */
export interface DirectoryRow {
  /** Nine digits. */
  nif: string;
  /** As it is answered. */
  legal_name: string;
  /** What queries are compared with (contract: normalized name). */
  normalized_name: string;
  /** What results are ordered by, as UTF-8 bytes (contract: order of results). */
  sort_key: string;
}

/** The same as Elasticsearch keeps it. */
export interface SearchDocument {
  nif: string;
  normalized_name: string;
  /**
   * Sort key, tab, NIF and legal name. Tab comes before everything that a sort key can hold, so that this is ordered as
   * results are; and as Elasticsearch answers each hit with what it was sorted by, there is nothing else to be read of it.
   */
  entry: string;
}

/** The one place where an entry's searchable form is computed. */
export function directoryRow(nif: string, legalName: string): DirectoryRow {
  return {
    nif,
    legal_name: legalName,
    normalized_name: normalizeName(legalName),
    sort_key: sortKey(legalName),
  };
}

/**
 * A legal name has at most 500 characters (contract, Files), of which each becomes at most 33 bytes of UTF-8 (U+FDFA) in
 * its sort key: with the name itself 18,510 bytes, where a Lucene term may have 32,766. So no name can fail a bulk request.
 */
export function searchDocument(nif: string, legalName: string): SearchDocument {
  const { normalized_name, sort_key } = directoryRow(nif, legalName);
  return { nif, normalized_name, entry: `${sort_key}\t${nif}${legalName}` };
}

const NIF_LENGTH = 9;

/** What a document's `entry` says. */
export function readEntry(entry: string): SearchEntry {
  const nifAt = entry.indexOf('\t') + 1;
  const nameAt = nifAt + NIF_LENGTH;
  return { nif: entry.slice(nifAt, nameAt), legalName: entry.slice(nameAt) };
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
