import type { SearchEntry } from '../../../src/companies/search/document.ts';
import { nif } from '../../support/companies.ts';
import { testEntries } from '../search/entries.ts';
import real from './real-names.json' with { type: 'json' };

/** Spellings of companies in public contracts, with the NIF that the contract has. They are public data (base.gov.pt). */
export const SPELLINGS = real.spellings;
/** Names from such contracts, of companies that the directory doesn't have. */
export const STRANGERS: string[] = real.strangers;

/** Real names, and the names that searches have trouble with. */
export const DIRECTORY: SearchEntry[] = [
  ...real.directory.map(([nif, legalName]) => ({ nif: nif!, legalName: legalName! })),
  ...testEntries().map(({ legalName }, at) => ({ nif: nif(at), legalName })),
];

const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
export const csvOf = (entries: readonly SearchEntry[]) =>
  ['nif,legal_name', ...entries.map(({ nif, legalName }) => `${nif},${quote(legalName)}`)].join('\n');

/** Names that the rule could trip over. */
export function hardNames(): string[] {
  const words = Array.from({ length: 30 }, (_, at) => `palavra${at}`);
  return [
    ...['', '***', 'Lda', 'S.A.', 'de da do', 'Sociedade', 'x'.repeat(500), `${'É '.repeat(250)}`],
    ...['a'.repeat(64), 'a'.repeat(63), 'a'.repeat(500), '\u{20000}'.repeat(40), '\ufdfa'.repeat(30)],
    ...[words.join(' '), `Município ${words.join(' ')} Lisboa`, `de ${'construção '.repeat(26)}`],
    ...[
      'Zenite',
      'Zenites',
      'Zenit',
      'Zneite',
      'zenite acores',
      'ZeniteAçores',
      'Ovo 😀',
      'ovo \ue000',
      'Xisto 7',
    ],
    ...[
      'AB Costa',
      'A B Costa',
      'abcosta',
      'Ab. Cost',
      'construcao',
      'Construções e Construções',
      'e',
      '½ dose',
    ],
    ...["'; DROP TABLE directory; --", '{"match_all":{}}', 'silva & | ! :*', "o''neill", '\u0000', '\ud800'],
  ];
}
