import { hash } from 'node:crypto';
import mappingFile from '../../../search-mappings/companies.json' with { type: 'json' };
import { normalizationFingerprint, normalizeName, sortKey } from '../name.ts';

/** A company in search results. */
export interface SearchEntry {
  /** Nine digits. */
  nif: string;
  legalName: string;
}

/** A company with the text that orders results, by its UTF-8 bytes (docs/api.md: order of results). */
export interface SortedEntry extends SearchEntry {
  sortKey: string;
}

/** An entry of the directory. */
export interface DirectoryEntry extends SortedEntry {
  /** Compared with queries (docs/api.md: normalized name). */
  normalized: string;
}

/** A directory entry in Elasticsearch. */
export interface SearchDocument {
  nif: string;
  normalized_name: string;
  /**
   * Sort key, tab, NIF and legal name. A tab sorts before every character of a sort key, so this text has the order of results.
   * Elasticsearch returns the sort value of each hit, so nothing else is read.
   */
  entry: string;
}

/** Computes the searchable form of a company; nothing else does. */
export function directoryEntry(nif: string, legalName: string): DirectoryEntry {
  const key = sortKey(legalName);
  // Of the key, because that has gone through the slow half of the normalization.
  return { nif, legalName, normalized: normalizeName(key), sortKey: key };
}

/**
 * No name can fail a bulk request. A legal name has at most 500 characters (docs/imports.md: files), and each becomes at most 33 bytes
 * of UTF-8 (U+FDFA) in its sort key. With the name that is 18,510 bytes, and a Lucene term may have 32,766.
 */
export function searchDocument({ nif, legalName, normalized, sortKey }: DirectoryEntry): SearchDocument {
  return { nif, normalized_name: normalized, entry: `${sortKey}\t${nif}${legalName}` };
}

const NIF_LENGTH = 9;

/** The company of a document's `entry`. */
export function readEntry(entry: string): SortedEntry {
  const tabAt = entry.indexOf('\t');
  const nameAt = tabAt + 1 + NIF_LENGTH;
  return {
    nif: entry.slice(tabAt + 1, nameAt),
    legalName: entry.slice(nameAt),
    sortKey: entry.slice(0, tabAt),
  };
}

/** A copy of the index's settings and mappings in search-mappings/companies.json. */
export function readMapping(): typeof mappingFile {
  return structuredClone(mappingFile);
}

/** Queries of more code points than this match nothing on the n-gram field. */
export const MAX_GRAM: number = mappingFile.settings.analysis.filter.beginnings.max_gram;

/**
 * 32 hexadecimal digits that change with the mapping file and the normalization of names. An index stores them in its `_meta`,
 * and must be rebuilt when they differ.
 */
export function mappingFingerprint(mapping: object = mappingFile): string {
  return hash('sha256', JSON.stringify([mapping, normalizationFingerprint()])).slice(0, 32);
}
