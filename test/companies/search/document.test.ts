import { describe, expect, test } from 'bun:test';
import { cleanName, sortKey } from '../../../src/companies/name.ts';
import {
  directoryEntry,
  mappingFingerprint,
  readMapping,
  searchDocument,
} from '../../../src/companies/search/document.ts';

/** The longest term that Lucene takes. */
const MAX_TERM_BYTES = 32_766;

test('no character of a sort key comes before the tab that ends it in the index, and no name becomes more than a term may have', () => {
  let most = 0;
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += 1) {
    const character = String.fromCodePoint(codePoint);
    // Of the 950,000 unassigned and private ones, which are all treated alike, a sample.
    if (codePoint % 64 !== 0 && /^[\p{Cn}\p{Co}]$/u.test(character)) continue;
    if (/[\0-\x1f]/.test(sortKey(cleanName(`a${character}b`)))) throw new Error(`U+${codePoint} does`);
    if (!character.isWellFormed()) continue;
    const entry = directoryEntry('500002576', character);
    most = Math.max(most, Buffer.byteLength(entry.sortKey), Buffer.byteLength(entry.normalized));
  }
  expect(most).toBe(33);
  // A name of 500 characters.
  expect((most + 4) * 500 + '\t500002576'.length).toBeLessThan(MAX_TERM_BYTES);
});

describe('the mapping', () => {
  test('is sorted as results are, and takes no field that it does not know', () => {
    const { settings, mappings } = readMapping();
    expect(settings.index['sort.field']).toEqual(['entry']);
    expect(settings.index['sort.order']).toEqual(['asc']);
    expect(mappings.dynamic).toBe('strict');
    expect(Object.keys(mappings.properties).sort()).toEqual(
      Object.keys(searchDocument(directoryEntry('500002576', 'Azul'))).sort(),
    );
  });

  test('has a fingerprint that changes with any part of it', () => {
    expect(mappingFingerprint(readMapping())).toBe(mappingFingerprint());
    const changed = readMapping();
    changed.settings.analysis.filter.beginnings.max_gram += 1;
    expect(mappingFingerprint(changed)).not.toBe(mappingFingerprint());
  });
});
