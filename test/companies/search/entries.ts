import { readFileSync } from 'node:fs';
import type { SearchEntry } from '../../../src/companies/search/document.ts';

/** The rows of the example directory: plain CSV, quotes doubled, no line breaks inside fields. */
export function exampleCompanies(): SearchEntry[] {
  const text = readFileSync(new URL('../../../examples/companies.csv', import.meta.url), 'utf8');
  const [header, ...lines] = text.trimEnd().split('\n');
  if (header !== 'nif,legal_name') throw new Error(`examples/companies.csv begins with ${header}`);
  return lines.map((line) => {
    const field = line.slice(10);
    const legalName = field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field;
    return { nif: line.slice(0, 9), legalName };
  });
}

/** NIFs of made-up entries; a directory's check digits don't matter to searches. */
export function numbered(first: number, names: readonly string[]): SearchEntry[] {
  return names.map((legalName, i) => ({ nif: String(first + i), legalName }));
}

const listed = (first: number, names: string) => numbered(first, names.split('|'));

export const LONG = 'Associação dos Produtores e Transformadores de Cortiça do Alto Alentejo';

/** Names that search has trouble with, 100 and more of them alike where a group is to be bigger than a result. */
function nastyEntries(): SearchEntry[] {
  return [
    // More exact matches than a result holds, typed in ways that sort differently, NIFs against the order.
    ...numbered(900_000_100, repeated(18, ['Zenite, Lda'])),
    ...numbered(
      900_000_050,
      repeated(6, ['ZÉNITE, LDA.', '"Zenite"', 'Zénite - S.A.', '(Zenite) Unipessoal, Lda']),
    ),
    ...numbered(900_000_200, ['Zenite Açores, Lda', 'Zenite Madeira', '"Zenite" Norte', 'Zénite, Sul, Lda']),
    // Fewer exact ones than a result holds, far from the others in the order of sort keys.
    ...numbered(900_000_300, ['«Xisto»', 'Xisto, S.A.', '- Xisto -']),
    ...numbered(
      900_000_310,
      Array.from({ length: 30 }, (_, i) => `Xisto ${i} Lda`),
    ),
    // Punctuation alone makes the difference.
    ...listed(900_000_400, 'A.B. Costa|A. B. Costa|A B Costa|A-B/Costa|"A B" Costa|A.B.Costa, Lda'),
    ...listed(900_000_420, 'AB Costa|A.\u00a0B.\u2003Costa|A\u00adB Costa'),
    // Ends inside a legal form, or is one.
    ...listed(900_000_500, 'Ábaco, Lda|Ábaco LD|Ábaco, Lim|Ábaco Limite|Ábaco|Ábaco Lim Norte|Ábaco L'),
    ...listed(900_000_510, 'Lda|S.A.|Unipessoal, Lda|Limitada S. A.|SGPS'),
    // Longer than the n-grams, alike to beyond them.
    ...numbered(900_000_600, [LONG, `${LONG}, Lda`, `${LONG}, do Norte`, LONG.toUpperCase()]),
    ...numbered(900_000_604, [`${LONG.slice(0, 30)}!`]),
    ...numbered(
      900_000_610,
      Array.from({ length: 25 }, (_, i) => `${LONG.slice(0, 40)} ${i}, ${LONG}`),
    ),
    ...numbered(900_000_640, ['a'.repeat(500), `${'a'.repeat(499)}b`, `${'A'.repeat(498)}, `]),
    ...numbered(900_000_643, ['É '.repeat(250)]),
    ...numbered(900_000_650, [`${'Construção e '.repeat(38)}Lda`, `${'Construção e '.repeat(38)}Z`]),
    // The longest terms that names can become: 16,500 bytes, 2,000 bytes of letters outside the BMP.
    ...numbered(900_000_700, ['\ufdfa'.repeat(500), '\ufdfa', `${'\ufdfa'.repeat(499)}x`]),
    ...numbered(900_000_703, ['\u{20000}'.repeat(500)]),
    // Surrogate pairs sort behind U+E000-FFFF by code point, before them by UTF-16 unit.
    ...listed(900_000_800, 'Ovo \u{1d11e}|Ovo \uffe0|Ovo \u{1f600}|Ovo \ufb50|Ovo \ue000|Ovo 😀 Lda'),
    ...listed(900_000_810, 'Ovo 𐐷|Ovo ꟿ|Ovo \u{20000}|Ovo 株|\u{20000}\u{20001}|\u{20000}株'),
    // Nothing is left of them, or hardly anything.
    ...listed(900_000_900, '***|...|\u0301\u0301|- & -|#1|%|_|\\'),
    ...listed(900_000_920, '%Percentagem% Lda|Percentagem_X|Per\\cent|O\'Neill|O"Neill|O`Neill'),
    ...listed(900_000_940, 'Rua 509442013, Lda|509 442 013|123456789 Lda|½ Dose|Straße|İstanbul'),
    // Names that look like the end of a text, of a hit or of an answer.
    ...listed(
      900_000_980,
      '"|"]}|A"]},{"_index":"x","sort":["b\\t500000000B"]}|C:\\"|\\t|\\\\t123456789|\\u0041',
    ),
    ...listed(
      900_000_987,
      '","status":"active"}],"error":null}|</script>\u2028\u2029\u007f\u0085|]},"status":200}',
    ),
    ...listed(900_000_960, '\u202eadL ,atreviR|שלום|العربية|한국|Ωmega|ΟΔΟΣ|ﬁm|ǅ'),
  ];
}

/** The example directory and the nasty names. */
export function testEntries(): SearchEntry[] {
  return [...exampleCompanies(), ...nastyEntries()];
}

function repeated(times: number, names: readonly string[]): string[] {
  return Array.from({ length: times }, () => names).flat();
}
