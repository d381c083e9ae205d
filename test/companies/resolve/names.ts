import type { Evidence } from '../../../src/companies/resolve/evidence.ts';
import { heavyWords, type Resolution } from '../../../src/companies/resolve/resolve.ts';
import type { SearchEntry } from '../../../src/companies/search/document.ts';
import { nif } from '../../support/companies.ts';
import { testEntries } from '../search/entries.ts';
import real from './real-names.json' with { type: 'json' };
import type { OracleAnswer } from './resolve-oracle.ts';

/** Spellings of companies in public contracts, with the NIF that the contract has. They are public data (base.gov.pt). */
export const SPELLINGS = real.spellings;
/** Names from such contracts, of companies that the directory doesn't have. */
export const STRANGERS: string[] = real.strangers;

/** More names than a read takes, and than are compared. */
const CROWD = [
  ...Array.from({ length: 700 }, (_, n) => `Tanoaria ${n % 2 ? 'Lilás' : 'de Lilás'} ${n % 350}, Lda`),
  ...Array.from({ length: 120 }, (_, n) => `Cordoaria Carmim ${n}`),
  // The last is found by the fourth and the seventh word of `SEVEN` alone.
  ...[
    'Alfarim Bornes Cacela',
    'Durrães',
    'Eirogo Faleiro',
    'Eirogo Faleiro Sul',
    'Gouxaria',
    'Durrães Gouxaria',
  ],
];
const SEVEN = 'Alfarim Bornes Cacela Durrães Eirogo Faleiro Gouxaria';

/** Real names, the names that searches have trouble with, and a crowd. */
export const DIRECTORY: SearchEntry[] = [
  ...real.directory.map(([nif, legalName]) => ({ nif: nif!, legalName: legalName! })),
  ...[...testEntries().map(({ legalName }) => legalName), ...CROWD].map((legalName, at) => ({
    nif: nif(at),
    legalName,
  })),
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
    ...['Zenite', 'Zenites', 'Zenit', 'Zneite', 'zenite acores', 'ZeniteAçores', 'Ovo 😀', 'ovo \ue000'],
    ...['Xisto 7', 'AB Costa', 'A B Costa', 'abcosta', 'Ab. Cost', 'construcao', 'e', '½ dose'],
    ...['Construções e Construções', 'Tanoaria Lilás', 'Tanoaria Lilas 17', 'Tanoaira Lilaz'],
    ...['Tanoaria Carmim', 'Lilás Tanoaria de 3 e 4', 'Cordoaria Carmim', 'Cordoaria 7'],
    ...['Cordoaria Carmim Lilás', 'Cordoaria Carmin 119 Norte', SEVEN],
    ...["'; DROP TABLE directory; --", '{"match_all":{}}', 'silva & | ! :*', "o''neill", '\u0000', '\ud800'],
  ];
}

export const plainEvidence = ({ kind, text }: Evidence) =>
  kind === 'same' || kind === 'missing' ? kind : { [kind]: text };

/** A resolution in the form of the oracle. */
export function plain({ name, clear, candidates }: Resolution): OracleAnswer {
  return {
    clear,
    words: heavyWords(name),
    candidates: candidates.map(({ nif, missing, changed, extra, evidence }) => ({
      nif,
      missing,
      changed,
      extra,
      evidence: evidence.map(plainEvidence),
    })),
  };
}
