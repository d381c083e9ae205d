import { describe, expect, test } from 'bun:test';
import { cleanName, sortKey } from '../../../src/companies/name.ts';
import {
  directoryRow,
  mappingFingerprint,
  readEntry,
  readMapping,
  searchDocument,
} from '../../../src/companies/search/document.ts';

/** The longest term that Lucene takes. */
const MAX_TERM_BYTES = 32_766;

/** Each assigned character, and a sample of the 950,000 others, which are all treated alike. */
function* characters(): Generator<string> {
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += 1) {
    const character = String.fromCodePoint(codePoint);
    if (codePoint % 64 === 0 || !/^[\p{Cn}\p{Co}]$/u.test(character)) yield character;
  }
}

describe('search documents', () => {
  test('an entry is the name as it is answered, as it is matched, and as it is sorted', () => {
    expect(directoryRow('500002576', 'A.J.COSTA (IRMÃOS), LDA.')).toEqual({
      nif: '500002576',
      legal_name: 'A.J.COSTA (IRMÃOS), LDA.',
      normalized_name: 'a j costa irmaos',
      sort_key: 'a.j.costa (irmaos), lda.',
    });
  });

  test('in the index its order comes first, and NIF and name can be read back', () => {
    const { nif, normalized_name, entry } = searchDocument(
      directoryRow('500002576', 'A.J.COSTA (IRMÃOS), LDA.'),
    );
    expect([nif, normalized_name]).toEqual(['500002576', 'a j costa irmaos']);
    expect(entry).toStartWith('a.j.costa (irmaos), lda.\t');
    expect(readEntry(entry)).toEqual({
      nif: '500002576',
      legalName: 'A.J.COSTA (IRMÃOS), LDA.',
      sortKey: 'a.j.costa (irmaos), lda.',
    });
  });

  test('no character of a sort key comes before the tab that ends it in the index', () => {
    for (const character of characters()) {
      const key = sortKey(cleanName(`a${character}b`));
      if (/[\0-\x1f]/.test(key)) throw new Error(`${JSON.stringify(character)} does`);
    }
  });

  test('no name of 500 characters becomes more than a term may have', () => {
    let most = 0;
    for (const character of characters()) {
      if (!character.isWellFormed()) continue;
      const row = directoryRow('500002576', character);
      most = Math.max(most, Buffer.byteLength(row.sort_key), Buffer.byteLength(row.normalized_name));
    }
    expect(most).toBe(33);
    const longestName = 4 * 500;
    expect(most * 500 + '\t500002576'.length + longestName).toBeLessThan(MAX_TERM_BYTES);
  });
});

describe('the mapping', () => {
  test('is sorted as results are, and takes no field that it does not know', () => {
    const { settings, mappings } = readMapping();
    expect(settings.index['sort.field']).toEqual(['entry']);
    expect(settings.index['sort.order']).toEqual(['asc']);
    expect(mappings.dynamic).toBe('strict');
    expect(Object.keys(mappings.properties).sort()).toEqual(
      Object.keys(searchDocument(directoryRow('500002576', 'Azul'))).sort(),
    );
  });

  test('is handed out as a copy', () => {
    readMapping().settings.index.number_of_shards = 5;
    expect(readMapping().settings.index.number_of_shards).toBe(1);
  });

  test('has a fingerprint that stays as long as it does, and changes with any part of it', () => {
    expect(mappingFingerprint()).toMatch(/^[0-9a-f]{32}$/);
    expect(mappingFingerprint()).toBe(mappingFingerprint(readMapping()));
    const changed = readMapping();
    changed.settings.analysis.filter.beginnings.max_gram += 1;
    expect(mappingFingerprint(changed)).not.toBe(mappingFingerprint());
  });
});
