import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { cleanName, normalizeName, sortKey } from '../../src/companies/name.ts';
import { isValidNif } from '../../src/companies/nif.ts';
import { oracleNormalize, oracleSortKey } from './oracles.ts';
import { exampleCompanies } from './search/entries.ts';

const companies = exampleCompanies();
const exampleNames = companies.map(({ legalName }) => legalName);

/** Characters that rules turn on: letters of forms, punctuation, marks, compatibility forms, surrogates. */
const trickyCharacter = fc.constantFrom(
  ...'ldasgpcrem LDASGPCREM .,-&()"\'',
  ...'áÁàãõçÇªº½²µ¨´ßØæŁ',
  ...['\u0301', '\u0327', '\u00a0', '\u00ad', '\u200f', '\u202e', '\u0000', '\ufeff', '\ufb01', '\ufdfa'],
  ...['\ud800', '\udc00', '\u{1d400}', '\u{10400}', 'Σ', 'İ', '\u2013', '\u2019', '€', '™', '①', '株', '한'],
);
const formWord = fc.constantFrom(...'Lda|S. A.|SA|L.da|Ldª|LD|Unipessoal|sociedade|anónima|E.M.'.split('|'));
const anyName = fc.oneof(
  fc.string({ unit: trickyCharacter, maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .array(fc.oneof(formWord, fc.string({ unit: trickyCharacter, maxLength: 4 })), { maxLength: 8 })
    .map((words) => words.join(' ')),
);

describe('normalizeName', () => {
  const golden: [string, string][] = [
    ['A.J.COSTA (IRMÃOS), LDA.', 'a j costa irmaos'],
    ['XYLEM Water Solutions Portugal, Unipessoal, Lda.', 'xylem water solutions portugal'],
    ['A. Santos & Silva, Lda.', 'a santos silva'],
    ['Barquense – Agência de Viagens e Turismo, Ld.ª', 'barquense agencia de viagens e turismo'],
    ['Ábaco, Ldª', 'abaco'],
    ['Ábaco, L.da', 'abaco'],
    ['Ábaco, L. D. A.', 'abaco'],
    ['Ábaco LIMITADA', 'abaco'],
    ['RIBEIRA MALHAS CONFECCOES LD', 'ribeira malhas confeccoes'],
    ['Ábaco Unipessoal Ld.', 'abaco'],
    ['LD, Lda', 'ld'],
    ['ALTER, S.A.', 'alter'],
    ['ALTER, S. A.', 'alter'],
    ['ALTER SA', 'alter'],
    ['ALTER, Sociedade Anónima', 'alter'],
    ['CERCIPOM – Cooperativa, C.R.L.', 'cercipom cooperativa'],
    ['Grupo X, SGPS, S.A.', 'grupo x'],
    ['Sport Clube, S.A.D.', 'sport clube'],
    ['Hospital de São João, E.P.E.', 'hospital de sao joao'],
    ['Loja, E.I.R.L.', 'loja'],
    ['Obras do Porto, A.C.E.', 'obras do porto'],
    ['Águas de Gaia, E.M.', 'aguas de gaia'],
    ['Águas de Gaia, EEM, SA', 'aguas de gaia'],
    ['Tratolixo, E.I.M., S.A.', 'tratolixo'],
    ['Café Sociedade Unipessoal, Lda', 'cafe'],
    ['Café Unip. Lda.', 'cafe'],
    // A form is removed only while a word stays in front of it, so a name of forms alone keeps its beginning.
    ['Lda', 'lda'],
    ['S.A.', 's a'],
    ['SA Lda', 'sa'],
    ['SA SA SA', 'sa'],
    ['Sociedade Unipessoal, Lda', 'sociedade'],
    ['Sociedade Anónima', 'sociedade anonima'],
    ['E. E. M.', 'e'],
    ['A C E', 'a c e'],
    // A form inside a word, in front or in the middle is a part of the name.
    ['Salda', 'salda'],
    ['Sá Lda', 'sa'],
    ['LDA Consultores', 'lda consultores'],
    ['X SA Portugal', 'x sa portugal'],
    ['LD Consultores', 'ld consultores'],
    ['Ábaco, L. D.', 'abaco l d'],
    ['Weld', 'weld'],
    ['Miranda & Associados – Sociedade de Advogados, SPRL', 'miranda associados sociedade de advogados sprl'],
    // Compatibility forms and digits of every kind.
    ['Nº 1 – 2ª Série', 'no 1 2a serie'],
    ['ﬁlmes ½ ①', 'filmes 1 2 1'],
    ['E\u0301cole', 'ecole'],
    ['Straße ØRSTED', 'straße ørsted'],
    ['3M', '3m'],
    ["D'Água", 'd agua'],
    // Nothing is left.
    ['', ''],
    [' \t\n', ''],
    ['*** & ---', ''],
    ['\u0301\u0302', ''],
    ['\u0000\u202e\u200f', ''],
    ['\ud800', ''],
    ['a\udc00b', 'a b'],
    ['a\ud800\u0301\udc00b', 'a b'],
  ];

  test.each(golden)('%j is matched as %j', (name, normalized) => {
    expect(normalizeName(name)).toBe(normalized);
  });

  test('agrees with an oracle for every real name', () => {
    for (const name of exampleNames) {
      expect(normalizeName(name)).toBe(oracleNormalize(name));
      expect(sortKey(name)).toBe(oracleSortKey(name));
    }
  });

  test('agrees with an oracle for every code point, alone and inside a word', () => {
    for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
      const character = String.fromCodePoint(codePoint);
      // Of the 950,000 unassigned and private ones, all of which are treated alike, a sample.
      if (codePoint % 64 !== 0 && /^[\p{Cn}\p{Co}]$/u.test(character)) continue;
      for (const name of codePoint < 0x3000 ? [character, `X${character}y SA`] : [`X${character}y SA`]) {
        const expected = oracleNormalize(name);
        const key = oracleSortKey(name);
        // A bare comparison: 300,000 calls of expect() take ten seconds.
        if (normalizeName(name) !== expected || sortKey(name) !== key) {
          expect([codePoint, normalizeName(name), sortKey(name)]).toEqual([codePoint, expected, key]);
        }
      }
    }
  });

  test('agrees with an oracle for any text, and changes nothing the second time', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        const once = normalizeName(name);
        const key = sortKey(name);
        expect([once, key]).toEqual([oracleNormalize(name), oracleSortKey(name)]);
        expect([normalizeName(once), sortKey(key)]).toEqual([once, key]);
      }),
      { numRuns: 10_000 },
    );
  });

  test('takes time in proportion to a hostile name', () => {
    // Another order of growth would time out. NFKD sorts a run of marks: these would take minutes.
    const marks = '\u0301\u0321\u0301\u0327'.repeat(100_000);
    expect(normalizeName(`a${marks}b`)).toBe('ab');
    expect(sortKey(`\u00e1${marks}-\ufdfa${marks}`)).toBe(sortKey('\u00e1-\ufdfa'));
    const hostile = [
      'sa '.repeat(3_400),
      's a '.repeat(2_500),
      'sociedade unipessoal '.repeat(500),
      '\u0301'.repeat(10_000),
      `a${'\u0301\u0327'.repeat(5_000)}`,
      '.'.repeat(10_000),
      '\ufdfa'.repeat(3_300),
      '\ud800'.repeat(10_000),
      'lda'.repeat(3_400),
    ];
    for (const name of hostile) {
      expect(normalizeName(name)).toBe(oracleNormalize(name));
      expect(sortKey(name)).toBe(oracleSortKey(name));
    }
  });
});

describe('sortKey', () => {
  test('keeps punctuation, spaces and legal forms', () => {
    expect(sortKey('Ábaco  & Irmãos, Ldª')).toBe('abaco  & irmaos, lda');
    expect(sortKey('´A¨ ½ Nº')).toBe(' a  1\u20442 no');
  });
});

describe('cleanName', () => {
  test('turns every control character into a space and trims', () => {
    expect(cleanName('\ufeff\t A\u001b[31mB\u0000C\u007f\u009bD\u2028E\r\n ')).toBe('A [31mB C  D E');
    expect(cleanName('\u0000\u0007')).toBe('');
    expect(cleanName('a\ud800\u0301\udc00b')).toBe('a\ufffd\u0301\ufffdb');
    expect(cleanName('Ana  &  Filhos')).toBe('Ana  &  Filhos');
  });

  test('leaves well-formed text without controls, for any text', () => {
    fc.assert(
      fc.property(anyName, (raw) => {
        const clean = cleanName(raw);
        expect(clean.isWellFormed()).toBe(true);
        expect(clean).not.toMatch(/\p{Cc}|\u2028|\u2029/u);
        expect(clean).toBe(clean.trim());
        expect(normalizeName(clean)).toBe(normalizeName(raw));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the example directory', () => {
  test('holds a few hundred companies, each with another valid NIF, and no natural person', () => {
    expect(companies.length).toBeGreaterThan(500);
    expect(companies.filter(({ nif }) => !isValidNif(nif) || /^[1-4]/.test(nif))).toEqual([]);
    expect(new Set(companies.map(({ nif }) => nif)).size).toBe(companies.length);
  });

  test('has clean names that normalize to something, and several that begin alike', () => {
    expect(companies.filter(({ legalName }) => cleanName(legalName) !== legalName)).toEqual([]);
    const prefixes = new Map<string, number>();
    for (const { legalName } of companies) {
      const normalized = normalizeName(legalName);
      expect(normalized).not.toBe('');
      const prefix = normalized.slice(0, 5);
      prefixes.set(prefix, (prefixes.get(prefix) ?? 0) + 1);
    }
    expect(Math.max(...prefixes.values())).toBeGreaterThan(20);
  });
});
