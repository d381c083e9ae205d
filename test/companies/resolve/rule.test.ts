/** The pure parts of the rule: words, edits, evidence, order and `clear`, beside the oracle's plain forms of them. */
import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { halfOf, NEAR_KINDS, nearNames } from '../../../bench/lib/name-sets.ts';
import { bodyOf } from '../../../src/companies/resolve/bodies.ts';
import { editsOf, isWithinEdits } from '../../../src/companies/resolve/edits.ts';
import { compare } from '../../../src/companies/resolve/evidence.ts';
import { rank } from '../../../src/companies/resolve/order.ts';
import { isHeavy, readWords, type WeighedName, weightOf } from '../../../src/companies/resolve/words.ts';
import { directoryEntry } from '../../../src/companies/search/document.ts';
import { resolveAmong } from '../../../src/companies/test-world/memory-reader.ts';
import { oracleNormalize } from '../oracles.ts';
import { plain, plainEvidence } from './names.ts';
import real from './real-names.json' with { type: 'json' };
import { oracleDistance, oracleEvidence, oracleRank, oracleRows } from './resolve-oracle.ts';

/** Few letters, so that words are often alike. */
const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1'), minLength: 1, maxLength: 9 });
const LIKE = 'gaia norte gaianorte construcoes construcao cgn const de e gaya 4 a j'.split(' ');
const BODIES = [
  ...['camara municipal de', 'municipio', 'hospital do', 'centro hospitalar'],
  ...['centro hospitalar e universitario', 'unidade local de saude'],
].map((body) => body.split(' '));
const plainWords = fc.array(fc.oneof(word, fc.constantFrom(...LIKE)), { minLength: 1, maxLength: 7 });
/** Some begin as a public body's name. */
const words = fc
  .tuple(fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.constantFrom(...BODIES)), plainWords)
  .map(([body, rest]) => [...body, ...rest]);
/** Which words have a period behind them, and which ones the directory knows, by a number. */
const bits = fc.nat(255);
const isIn = (set: number, at: number) => ((set >> (at % 8)) & 1) === 1;
const weight = fc.constantFrom(1, 2, 4, 8);

/** A name of some words. @param known the numbers by their length of the words that the directory knows; by default none */
function weighed(names: string[], weights: number[], known = 0, periods = 0): WeighedName {
  return {
    written: written(names, periods),
    normalized: names.join(' '),
    words: names,
    weights: names.map((one, at) => (isHeavy(one) ? weights[at % weights.length]! : 0)),
    body: bodyOf(names),
    isKnown: (one) => isIn(known, one.length),
  };
}

const written = (names: string[], periods: number) =>
  names.map((one, at) => (isIn(periods, at) ? `${one}.` : one)).join(' ');

describe('words', () => {
  test('the first 24 are read, and of these the first 12 heavy ones', () => {
    const many = Array.from({ length: 30 }, (_, at) => `w${at}`);
    expect(readWords(many.join(' ')).words).toEqual(many.slice(0, 12));
    expect(readWords('de '.repeat(30) + many.join(' ')).words).toEqual(Array(24).fill('de'));
    expect(readWords(`Águas de ${many.join(' de ')}`).words.filter(isHeavy)).toHaveLength(12);
    expect(readWords('***')).toEqual({ written: '***', normalized: '', words: [] });
  });

  test('weights follow the entries per million', () => {
    const weights = [0, 20, 21, 500, 501, 5000, 5001].map((entries) => weightOf(entries, 1_000_000));
    expect(weights).toEqual([8, 8, 4, 4, 2, 2, 1]);
    expect([40, 41, 10_000].map((entries) => weightOf(entries, 2_000_000))).toEqual([8, 4, 2]);
    // One entry of a small directory makes no word frequent.
    expect([1, 3, 26].map((entries) => weightOf(entries, 10))).toEqual([4, 2, 1]);
  });
});

describe('edits', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'z'), minLength: 1, maxLength: 5 });

  test('are all words at distance one', async () => {
    const all = ['', 'a', 'b', 'z'];
    for (let length = 2; length <= 5; length++)
      for (const one of all.filter((text) => text.length === length - 1))
        all.push(...['a', 'b', 'z'].map((letter) => one + letter));
    await fc.assert(
      fc.property(
        letters.filter(({ length }) => length < 5),
        (one) => {
          const edits = [...editsOf(one)].filter((edit) => /^[abz]*$/.test(edit)).sort();
          expect(edits).toEqual(all.filter((other) => oracleDistance(one, other) === 1).sort());
        },
      ),
    );
  });

  test('are counted as the whole table counts them', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 });
    await fc.assert(
      fc.property(text, text, fc.constantFrom(1, 2), (one, other, most) => {
        expect(isWithinEdits(one, other, most)).toBe(oracleDistance(one, other) <= most);
      }),
    );
  });
});

describe('evidence', () => {
  test('equals the plain passes, for any names', async () => {
    await fc.assert(
      fc.property(words, words, fc.array(weight, { minLength: 7, maxLength: 7 }), (one, other, weights) => {
        const name = weighed(one, weights);
        const { evidence, ...rest } = compare(name, other.join(' '));
        const found: object = { ...rest, evidence: evidence.map(plainEvidence) };
        expect(found).toEqual(oracleEvidence(one, name.weights, other));
      }),
      { numRuns: 3000 },
    );
  });

  const evidenceOf = (name: string, candidate: string) => {
    const { words: read } = readWords(name);
    return compare(weighed(read, [8]), oracleNormalize(candidate)).evidence.map(plainEvidence);
  };
  test.each([
    ['Leica Microssistemas', 'LEICA MICROSISTEMAS, LDA', ['same', { letter: 'microsistemas' }]],
    ['B2Mobility', 'B2 Mobility GmbH', [{ joined: 'b2 mobility' }]],
    ['4 Energy', '4ENERGY, Lda', [{ joined: '4energy' }, { joined: '4energy' }]],
    [
      'Transportadora Lusitana',
      'Transprotadora Luzitana',
      [{ letter: 'transprotadora' }, { letter: 'luzitana' }],
    ],
    ['Laboratorios Farmacêuticos', 'Laboratorio Farmaceutica', [{ letter: 'laboratorio' }, 'missing']],
    ['Lab Pfizer', 'Laboratórios Pfizer', ['missing', 'same']],
    ['ULSM', 'Unidade Local de Saúde de Matosinhos', [{ initials: 'unidade local saude matosinhos' }]],
    ['Unidade Local de Saúde', 'ULS Norte', [{ initials: 'uls' }, { initials: 'uls' }, { initials: 'uls' }]],
    ['Casa 1234', 'Casa 1235', ['same', 'missing']],
  ])('%s beside %s', (name, candidate, evidence) => {
    expect(evidenceOf(name, candidate)).toEqual(evidence as ReturnType<typeof evidenceOf>);
  });
});

describe('the order', () => {
  test('the cut, `clear` and what is shown equal the plain forms, for any given candidates', async () => {
    // Of more than 40 candidates some are not compared.
    const names = fc.oneof(
      { weight: 4, arbitrary: fc.array(words, { minLength: 1, maxLength: 12 }) },
      { weight: 1, arbitrary: fc.array(words, { minLength: 41, maxLength: 60, size: 'max' }) },
    );
    await fc.assert(
      fc.property(
        words,
        names,
        fc.array(weight, { minLength: 7, maxLength: 7 }),
        fc.tuple(bits, bits),
        (one, others, weights, [known, periods]) => {
          const name = weighed(one, weights, known, periods);
          const entries = others.map((other, at) =>
            directoryEntry(String(500_000_000 + at), written(other, periods >> at)),
          );
          const { clear, candidates } = plain({ name, ...rank(name, entries) });
          const rows = oracleRows(entries);
          expect({ clear, candidates }).toEqual(oracleRank(name, name.weights, name.isKnown, rows));
        },
      ),
      { numRuns: 2000 },
    );
  });

  const BRAGANCA = ['Padaria Zutrex Bragança, S.A.'];
  const SHORT = ['Equip. Zutrex Bragança'];
  const LONG = ['Unidade Local Zutrex Bragança'];
  test.each<[name: string, weights: number[], candidates: string[], isClear: boolean, known?: string]>([
    // An equal name is clear if it is the only one.
    ['gaia norte', [1], ['gaia norte', 'gaia norte sul'], true],
    ['gaia norte', [8], ['gaia norte', 'gaia norte'], false],
    // Without one, a name that differs in light words, or in what it calls the body, is clear if it is the only one.
    ['gaia norte', [1], ['gaia do norte', 'gaia norte sul'], true],
    ['gaia norte', [1], ['norte e gaia'], false],
    ['gaia norte', [8], ['gaia do norte', 'gaia no norte'], false],
    ['câmara municipal de gaia', [1], ['município de gaia', 'gaia câmara municipal'], true],
    ['câmara municipal de gaia', [8], ['município de gaia', 'município da gaia'], false],
    ['câmara municipal gaia', [1], ['município de gaia', 'câmara municipal de gaia'], true],
    ['câmara municipal', [8], ['município'], false],
    ['Freguesia de Foot', [4], ['Foot Freguesia, Lda'], false],
    ['Freguesia de Foot', [4], ['Freguesia do Foot, Lda'], false],
    ['Freguesia de Foot', [4], ['Freguesia do Foot'], true],
    // Another name is clear if it alone lacks nothing, begins with a word of the name, and has a rare word as written.
    ['gaia norte', [4, 1], ['gaia do norte um'], true],
    ['gaia norte', [2, 2], ['gaia do norte um'], false],
    ['gaia norte', [4, 1], ['sul gaia norte'], false],
    ['gaia norte', [4, 1], ['gaia norte um', 'gaia norte dois'], false],
    ['gaia norte', [4, 1], ['gaia norte um', 'gaia sul'], true],
    ['gaia norte', [4, 1], ['gaia sul'], false],
    ['gaia norte', [4, 1], ['gaia norte um dois'], true],
    ['gaia norte', [4, 1], ['gaia um norte dois'], true],
    ['gaia norte', [4, 1], ['gaia norte um dois tres'], true],
    ['gaia norte', [4, 1], ['gaia um norte dois tres'], false],
    ['gaia nortes sules', [8, 8, 8], ['gaia norte sule'], false],
    ['freguesia de gaia', [1, 8], ['freguesia de gaia do norte'], false],
    // A word that the directory knows is no error, a letter of a short one neither.
    ['Padaria Zutrex Bragansa', [8], BRAGANCA, true],
    ['Padaria Zutrex Bragansa', [8], BRAGANCA, false, 'bragansa'],
    ['Padaria Zutrex Gaia', [8], ['Padaria Zutrex Maia'], false],
    ['Padaria Zutrex Mouro', [8], ['Padaria Zutrex Moura'], true],
    ['Padaria Zutrex Braga', [8], BRAGANCA, false],
    ['ulz zutrex bragança', [4], LONG, true],
    ['ulz zutrex bragança', [4], LONG, false, 'ulz'],
    // An abbreviation has a period.
    ['Pad. Zutrex Bragança', [2, 8], BRAGANCA, true, 'pad'],
    ['Pad Zutrex Bragança', [2, 8], BRAGANCA, false],
    ['Pada. Zutrex Bragança', [2, 8], BRAGANCA, false],
    ['Padaria Zutrex Brag.', [2, 8], BRAGANCA, false],
    ['Padarias. Zutrex Bragança', [2, 8], BRAGANCA, false, 'padarias'],
    ['Equipamentos Zutrex Bragança', [2, 8], SHORT, true],
    ['Equipamentos Zutrex Bragança', [4, 8], SHORT, false],
    ['Equipamentos. Zutrex Bragança', [2, 8], SHORT, false],
    ['Zutrex Equipamentos', [8, 2], ['Zutrex Equip.'], false],
    // A light word may be the beginning of an extra one, and a name be cut.
    ['Foot para', [4], ['FOOT PARK, LDA'], false],
    ['Foot com. Pneus', [4], ['Foot Comércio Pneus'], true],
    ['Foot com Pneus', [4], ['Foot Comércio Pneus'], false],
    ['O Foot', [4], ['Foot Park'], false],
    ['Foot por, Lda', [4], ['Foot, Lda'], false],
    ['Foot.com', [4], ['Foot.com, Lda'], true],
    ['Helio coe Foot', [4], ['Helio Coelho Organização Foot'], false],
    // A brand alone with another legal form is another company.
    ['Foot', [4], ['Foot Park, Lda'], true],
    ['Foot, S.A.', [4], ['Foot Park, Lda'], false],
    ['Foot Pneus, S.A.', [4], ['Foot Pneus Park, Lda'], true],
    // Initials tell names apart, unless they stand beside their words.
    ['ANI - Agência Nacional de Inovação', [2], ['Agência Nacional Inovação'], true],
    ['Agência Nacional de Inovação', [2], ['Agência Nacional de Inovação (ANI)'], true],
    ['ANI - Agência Nacional de Inovação', [2], ['NIN - Agência Nacional de Inovação'], false],
    ['A. Norvik & Filhos', [8], ['E. Norvik & Filhos'], false],
    ['A. Norvik & Filhos', [8], ['Norvik e Filhos'], false],
    ['Norvik e Filhos', [8], ['A. Norvik & Filhos'], false],
    ['Construções A. Norvik', [8], ['Construções E. Norvik'], false],
    ['A Norvik e Filhos', [8], ['Norvik & Filhos'], true],
    ['Os Norvik', [8], ['O. Norvik'], false],
    ['A. E. Norvik, Filhos', [8], ['A. E. Norvik & Filhos'], true],
    ['A.E. Norvik, Filhos', [8], ['AE Norvik & Filhos'], true],
    ['Instituto Norvik e Filhos, IP', [8], ['Instituto Norvik & Filhos, I. P.'], true],
  ])('%s with the weights %j beside %j: clear is %p', (name, weights, candidates, isClear, known = '') => {
    const { words: read, ...rest } = readWords(name);
    const rows = candidates.map((legalName, at) => directoryEntry(String(at), legalName));
    // The directory has the candidates' words, and those of `known`.
    const all = new Set([...known.split(' '), ...rows.flatMap(({ normalized }) => normalized.split(' '))]);
    const asked = { ...weighed(read, weights), ...rest, isKnown: (one: string) => all.has(one) };
    expect(rank(asked, rows).clear).toBe(isClear);
  });
});

const NAMES = real.directory.map(([, name]) => name!);

/** Those of some names that are clear in a directory of other names. */
async function clearOnes(asked: string[], directory: string[]): Promise<string[]> {
  const rows = directory.map((name, at) => directoryEntry(String(500_000_000 + at), name));
  rows.sort((one, other) => (one.sortKey < other.sortKey ? -1 : 1));
  const clear: string[] = [];
  for (const name of asked) {
    const { clear: isClear, candidates } = await resolveAmong(rows, name);
    if (isClear) clear.push(`${name} is ${candidates[0]!.legalName}, ${candidates[0]!.extra} extra`);
  }
  return clear;
}

test.each(NEAR_KINDS)('a name is not clear by a word near one of its own: %s', async (kind) => {
  const near = nearNames(NAMES, kind, 100);
  expect(near).toHaveLength(100);
  expect(await clearOnes(near, NAMES)).toEqual([]);
});

test('of the names that half of the directory lacks none is clear without extra words', async () => {
  const { kept, absent } = halfOf(NAMES, (name) => name, 200);
  expect(absent).toHaveLength(200);
  expect((await clearOnes(absent, kept)).filter((one) => one.endsWith(', 0 extra'))).toEqual([]);
});
