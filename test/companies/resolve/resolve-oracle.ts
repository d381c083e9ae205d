/**
 * The rule of docs/resolutions.md, computed from a whole directory in memory: slow, plain, and without any code of src/companies/resolve.
 */
import type { SearchEntry } from '../../../src/companies/search/document.ts';
import { oracleNormalize, oracleSortKey, rowsOf } from '../oracles.ts';

const LIGHT =
  'a o e y de da do das dos d em no na para com por lda ld limitada sa unip unipessoal sociedade soc sgps sad crl epe eirl ace eem eim ip ltd sl slu gmbh sucursal'.split(
    ' ',
  );
const isHeavy = (word: string) => !LIGHT.includes(word);

const CAPS = { any: 600, both: 300, all: 100, compared: 40 };

export interface OracleAnswer {
  clear: boolean;
  words: { word: string; weight: number }[];
  candidates: { nif: string; missing: number; changed: number; extra: number; evidence: unknown[] }[];
}

interface Row extends SearchEntry {
  normalized: string;
  words: string[];
}

/** Optimal string alignment, by its whole table. */
export function oracleDistance(one: string, other: string): number {
  const table = Array.from({ length: one.length + 1 }, (_, i) =>
    Array.from({ length: other.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  for (let i = 1; i <= one.length; i++) {
    for (let j = 1; j <= other.length; j++) {
      const options = [
        table[i - 1]![j]! + 1,
        table[i]![j - 1]! + 1,
        table[i - 1]![j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1),
      ];
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        options.push(table[i - 2]![j - 2]! + 1);
      table[i]![j] = Math.min(...options);
    }
  }
  return table[one.length]![other.length]!;
}

const BODIES = [
  'camara municipal|municipio',
  'junta freguesia|freguesia',
  'uniao freguesias|freguesia uniao freguesias|junta freguesia uniao freguesias|junta uniao freguesias',
  'hospital|centro hospitalar|centro hospitalar universitario|unidade local saude',
  'servicos municipalizados|servicos municipalizados agua saneamento|smas',
  'bombeiros voluntarios|associacao humanitaria bombeiros voluntarios|associacao humanitaria bombeiros',
  'santa casa misericordia|irmandade santa casa misericordia|misericordia',
  'instituto politecnico|politecnico',
  'agrupamento escolas|agrupamento vertical escolas',
  'direcao geral|direccao geral',
  'direcao regional|direccao regional',
  'inspecao geral|inspeccao geral',
].map((line) => line.split('|'));

/** The longest phrase that a name begins with, its line, and its places. */
function bodyOf(words: string[]) {
  const heavy = [...words.keys()].filter((at) => isHeavy(words[at]!));
  const text = `${heavy.map((at) => words[at]).join(' ')} `;
  const phrase = BODIES.flat()
    .filter((one) => text.startsWith(`${one} `))
    .sort((one, other) => other.split(' ').length - one.split(' ').length)[0];
  if (phrase === undefined) return undefined;
  const line = BODIES.find((one) => one.includes(phrase))!;
  return { phrase, line, places: heavy.slice(0, phrase.split(' ').length) };
}

/** Single letters before the first longer word, and light or heavy ones with a period between two longer words. */
function initialsOf(words: string[], written: string): string {
  const texts = oracleSortKey(written).match(/[\p{L}\p{N}]+\.?/gu) ?? [];
  const isLetter = (word = '') => /^\p{L}$/u.test(word);
  const isLong = (word?: string) => word !== undefined && !isLetter(word);
  return words
    .filter((word, at) => {
      if (!isLetter(word)) return false;
      const isFirst = words.slice(0, at).every(isLetter);
      return isFirst || (texts[at]!.endsWith('.') && isLong(words[at - 1]) && isLong(words[at + 1]));
    })
    .join('');
}

function haveSameInitials(
  one: string[],
  written: string,
  other: string[],
  otherWritten: string,
  mayBeArticle = true,
): boolean {
  const [ours, theirs] = [initialsOf(one, written), initialsOf(other, otherWritten)];
  const isArticle = (letters: string, text: string) =>
    mayBeArticle &&
    /^[ao]$/.test(letters) &&
    new RegExp(`^[^\\p{L}\\p{N}]*${letters}(?![\\p{L}\\p{N}.])`, 'u').test(oracleSortKey(text));
  return (
    ours === theirs ||
    (theirs === '' && (ours === other[0] || isArticle(ours, written))) ||
    (ours === '' && (theirs === one[0] || isArticle(theirs, otherWritten)))
  );
}

const hasPeriod = (written: string, at: number) =>
  oracleSortKey(written)
    .match(/[\p{L}\p{N}]+\.?/gu)
    ?.[at]?.endsWith('.') === true;

/** Of a company by shares or by quotas. */
function formOf(written: string): string {
  const words = oracleSortKey(written)
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  const end = (count: number) => (words.length > count ? words.slice(-count).join(' ') : '');
  if (['sa', 'sociedade anonima', 's a'].some((form) => [end(1), end(2)].includes(form))) return 'shares';
  const quotas = ['lda', 'ld', 'limitada', 'unip', 'unipessoal', 'l da', 'ld a', 'l d', 'l d a'];
  return quotas.some((form) => [end(1), end(2), end(3)].includes(form)) ? 'quotas' : '';
}

/** The same heavy words; one side may have initials of its other words besides. */
function areAlike(one: string[], other: string[]): boolean {
  const bare = (words: string[]) =>
    words
      .filter((word, at) => {
        const letters = words.filter((_, position) => position !== at).map(([letter]) => letter);
        return word.length < 3 || word.length > 8 || !letters.join('').includes(word);
      })
      .join('');
  const [ours, theirs] = [one.filter(isHeavy), other.filter(isHeavy)];
  const forms = [theirs.join(''), bare(theirs)];
  return ours.length > 0 && (forms.includes(ours.join('')) || bare(ours) === forms[0]);
}

const isLettersOnly = (word: string) => !/\p{N}/u.test(word);

/** The evidence for each heavy word, the number of extra words, and whether the candidate's first heavy word is used. */
export function oracleEvidence(name: string[], weights: number[], candidate: string[]) {
  const found = new Map<number, string | Record<string, string>>();
  const used = new Set<number>();
  const free = (of: string[], taken: { has(at: number): boolean }, test: (word: string) => boolean) =>
    of.findIndex((word, at) => !taken.has(at) && test(word));
  const [body, theirs] = [bodyOf(name), bodyOf(candidate)];
  if (body && theirs && body.line === theirs.line && body.phrase !== theirs.phrase) {
    const text = theirs.places.map((at) => candidate[at]).join(' ');
    for (const at of body.places) found.set(at, { body: text });
    for (const at of theirs.places) used.add(at);
  }
  name.forEach((word, at) => {
    if (found.has(at)) return;
    const place = free(candidate, used, (other) => other === word);
    if (place < 0) return;
    used.add(place);
    found.set(at, 'same');
  });
  /** Neighbours of one side that are a word of the other, both not taken yet. */
  const join = (
    [neighbours, taken]: [string[], { has(at: number): boolean }],
    [whole, takenToo]: [string[], { has(at: number): boolean }],
    explain: (places: number[], at: number) => void,
  ) => {
    for (const from of neighbours.keys()) {
      for (const count of [5, 4, 3, 2]) {
        const places = [...neighbours.keys()].slice(from, from + count);
        if (places.length < count || places.some((place) => taken.has(place))) continue;
        const joined = places.map((place) => neighbours[place]).join('');
        const at = free(whole, takenToo, (word) => word === joined);
        if (at < 0) continue;
        explain(places, at);
        break;
      }
    }
  };
  join([name, found], [candidate, used], (places, at) => {
    used.add(at);
    for (const place of places) found.set(place, { joined: candidate[at]! });
  });
  join([candidate, used], [name, found], (places, at) => {
    found.set(at, { joined: places.map((place) => candidate[place]).join(' ') });
    for (const place of places) used.add(place);
  });
  const pass = (kind: string, test: (word: string, other: string, at: number) => boolean) =>
    name.forEach((word, at) => {
      if (found.has(at) || !isHeavy(word)) return;
      const place = free(candidate, used, (other) => isHeavy(other) && test(word, other, at));
      if (place < 0) return;
      used.add(place);
      found.set(at, { [kind]: candidate[place]! });
    });
  const shorter = (word: string, other: string) => Math.min(word.length, other.length);
  const areLetters = (word: string, other: string) => isLettersOnly(word) && isLettersOnly(other);
  pass(
    'letter',
    (word, other) =>
      shorter(word, other) >= 4 && areLetters(word, other) && oracleDistance(word, other) === 1,
  );
  pass(
    'beginning',
    (word, other, at) =>
      shorter(word, other) >= (weights[at]! <= 2 ? 3 : 4) &&
      (word.startsWith(other) || other.startsWith(word)),
  );
  /** The places of the heavy neighbours that begin with these letters. */
  const initialsOf = (letters: string, words: string[]): number[] | undefined => {
    if (letters.length < 3 || letters.length > 8) return undefined;
    const places = [...words.keys()].filter((at) => isHeavy(words[at]!) && !/^\p{N}/u.test(words[at]!));
    const runs = places.map((_, from) => places.slice(from, from + letters.length));
    return runs.find((run) => run.map((at) => words[at]![0]).join('') === letters);
  };
  name.forEach((word, at) => {
    const isCut = candidate.some((other) => other.startsWith(word));
    const places = found.has(at) || !isHeavy(word) || isCut ? undefined : initialsOf(word, candidate);
    if (places === undefined) return;
    found.set(at, { initials: places.map((place) => candidate[place]).join(' ') });
    for (const place of places) used.add(place);
  });
  candidate.forEach((word, place) => {
    const isCut = name.some((other) => other.startsWith(word));
    const places = used.has(place) || !isHeavy(word) || isCut ? undefined : initialsOf(word, name);
    if (places === undefined) return;
    used.add(place);
    for (const at of places) if (!found.has(at)) found.set(at, { initials: word });
  });
  return {
    evidence: [...name.keys()].filter((at) => isHeavy(name[at]!)).map((at) => found.get(at) ?? 'missing'),
    unused: candidate.filter((word, place) => isHeavy(word) && !used.has(place)),
    isFirstUsed: used.has(candidate.findIndex(isHeavy)),
    isExtraLast: /^1*0*$/.test(
      [...candidate.keys()]
        .filter((at) => isHeavy(candidate[at]!))
        .map((at) => (used.has(at) ? 1 : 0))
        .join(''),
    ),
  };
}

/** Ranks given candidates, which are in the order of results. */
export function oracleRank(
  { written, normalized, words: name }: { written: string; normalized: string; words: string[] },
  weights: number[],
  isKnown: (word: string) => boolean,
  candidates: Row[],
): Pick<OracleAnswer, 'clear' | 'candidates'> {
  const heavy = weights.filter((_, at) => isHeavy(name[at]!));
  const body = bodyOf(name);
  const lacks = (row: Row) => {
    if (row.normalized === normalized) return -1;
    const isBody = body?.line.some((phrase) => row.normalized.startsWith(phrase.split(' ')[0]!));
    return sum(
      weights.filter(
        (_, at) =>
          !row.words.some((word) => word.startsWith(name[at]!.slice(0, 3))) &&
          !(isBody && body!.places.includes(at)),
      ),
    );
  };
  const likeliest =
    candidates.length <= CAPS.compared
      ? candidates
      : stable(candidates, (row) => [lacks(row), row.normalized.length]).slice(0, CAPS.compared);
  const all = likeliest.map((row) => {
    const { evidence, ...rest } = oracleEvidence(name, weights, row.words);
    const kinds = evidence.map((one) => (typeof one === 'string' ? one : Object.keys(one)[0]!));
    const weighOf = (test: (kind: string) => boolean) => sum(heavy.filter((_, at) => test(kinds[at]!)));
    const missing = weighOf((kind) => kind === 'missing');
    const changed = weighOf((kind) => !['same', 'joined', 'missing'].includes(kind));
    const mark = heavy.some((weight, at) => weight >= 4 && ['same', 'joined'].includes(kinds[at]!));
    const heavyName = name.filter(isHeavy);
    const isOther = heavyName.some((word, at) => {
      const one = evidence[at]!;
      if (typeof one === 'string' || 'joined' in one || 'body' in one) return false;
      if ('letter' in one) return isKnown(word) || word.length < 5 || one.letter!.length < 5;
      if ('initials' in one) return isKnown(word);
      const ours = [...name.keys()].filter((position) => isHeavy(name[position]!))[at]!;
      const theirs = row.words.indexOf(one.beginning!);
      if (hasPeriod(written, ours) && hasPeriod(row.legalName, theirs)) return true;
      const [words, text, place] =
        word.length <= one.beginning!.length ? [name, written, ours] : [row.words, row.legalName, theirs];
      const isFrequent = words === name || heavy[at]! <= 2;
      const isInside = place < words.length - 1;
      return !(isFrequent && hasPeriod(text, place) && isInside && !'aeiou'.includes(words[place]!.at(-1)!));
    });
    const isOtherLight = name.some(
      (word, at) =>
        !isHeavy(word) &&
        word.length > 2 &&
        !hasPeriod(written, at) &&
        !row.words.includes(word) &&
        rest.unused.some(
          (other) =>
            other.length > 2 &&
            (other.startsWith(word) || word.startsWith(other) || oracleDistance(word, other) < 2),
        ),
    );
    const isOtherForm =
      heavyName.length === 1 &&
      rest.unused.length > 0 &&
      [formOf(written), formOf(row.legalName)].sort().join() === 'quotas,shares';
    const initials = haveSameInitials(name, written, row.words, row.legalName);
    const isArticle =
      initialsOf(name, written) !== initialsOf(row.words, row.legalName) &&
      !haveSameInitials(name, written, row.words, row.legalName, false);
    const theirs = bodyOf(row.words);
    const extra = rest.unused.length;
    const alike = [
      row.normalized === normalized,
      missing === 0 && extra === 0 && initials && areAlike(name, row.words),
      missing === 0 &&
        extra === 0 &&
        initials &&
        body !== undefined &&
        body.line === theirs?.line &&
        areAlike(
          name.filter((_, at) => !body.places.includes(at)),
          row.words.filter((_, at) => !theirs.places.includes(at)),
        ),
    ].indexOf(true);
    const likeness = alike < 0 ? 3 : alike;
    const isRefused = isOther || isOtherLight || isOtherForm || !initials || (extra > 0 && isArticle);
    return { row, evidence, ...rest, extra, missing, changed, mark, isRefused, likeness };
  });
  const inOrder = candidates.filter((row) => likeliest.includes(row));
  const ranked = stable(
    inOrder.map((row) => all.find((one) => one.row === row)!),
    (one) => [one.likeness, one.missing, one.changed, one.isExtraLast ? 0 : 1, one.extra],
  );
  const [first, second] = ranked;
  const clear =
    first !== undefined &&
    (first.likeness === 0 ||
      !['de', 'da', 'das', 'do', 'dos', 'em', 'na', 'no', 'para', 'com', 'por'].includes(
        name.at(-1) ?? '',
      )) &&
    (first.likeness === 0 ||
      body === undefined ||
      (first.extra === 0 &&
        bodyOf(first.row.words)?.line === body.line &&
        formOf(written) === formOf(first.row.legalName))) &&
    (first.likeness < 3
      ? ranked.filter(({ likeness }) => likeness === first.likeness).length === 1
      : first.missing === 0 &&
        first.changed <= 8 &&
        first.mark &&
        first.isFirstUsed &&
        (first.extra <= heavy.length || first.isExtraLast) &&
        !first.isRefused &&
        (second === undefined || second.missing > 0));
  const shown = ranked.filter(
    ({ likeness, missing, isFirstUsed, extra, mark }) =>
      likeness < 3 ||
      (heavy.length > 0 &&
        (missing <= sum(heavy) - missing ||
          (isFirstUsed && heavy[0] === Math.max(...heavy)) ||
          (isFirstUsed && extra === 0 && mark))),
  );
  return {
    clear,
    candidates: shown.slice(0, 5).map(({ row, missing, changed, extra, evidence }) => ({
      nif: row.nif,
      missing,
      changed,
      extra,
      evidence,
    })),
  };
}

/** Entries with their words, in the order of results. */
export const oracleRows = (entries: readonly SearchEntry[]): Row[] =>
  rowsOf(entries).map(({ entry, normalized }) => ({ ...entry, normalized, words: normalized.split(' ') }));

/** Resolves names by a whole directory. */
export function createResolveOracle(entries: readonly SearchEntry[]) {
  const rows = oracleRows(entries);
  const counts = new Map<string, number>();
  for (const { words } of rows)
    for (const word of new Set(words)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const vocabulary = [...counts.keys()]
    .filter((word) => word.length < 64)
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const known = new Set(vocabulary);
  const count = (word: string) => (known.has(word) ? counts.get(word)! : 0);
  const weightOf = (n: number) => {
    const perMillion = (n * 1e6) / Math.max(rows.length, 5000);
    return perMillion <= 20 ? 8 : perMillion <= 500 ? 4 : perMillion <= 5000 ? 2 : 1;
  };

  return (text: string): OracleAnswer => {
    const normalized = oracleNormalize(text);
    let words = normalized === '' ? [] : normalized.split(' ').slice(0, 24);
    const heavyPlaces = [...words.keys()].filter((at) => isHeavy(words[at]!));
    if (heavyPlaces.length > 12) words = words.slice(0, heavyPlaces[12]);
    const heavy = words.filter(isHeavy);
    const sought = [...new Set(heavy)]
      .filter((word) => word.length <= 30 && weightOf(count(word)) === 8)
      .slice(0, 4);
    const near = new Map(
      sought
        .filter((word) => /^[a-z]{4,16}$/.test(word))
        .map((word) => {
          const all = vocabulary.filter(
            (other) => /^[a-z]{4,}$/.test(other) && other !== word && oracleDistance(word, other) === 1,
          );
          return [word, stable(all, (other) => [count(other)]).slice(0, 20)] as const;
        }),
    );
    const weights = words.map((word) =>
      isHeavy(word) ? weightOf(count(word) || Math.max(1, ...(near.get(word) ?? []).map(count))) : 0,
    );

    const body = bodyOf(words);
    const asked = [...words.keys()].filter(
      (at) => (heavy.length === 0 || isHeavy(words[at]!)) && !body?.places.includes(at),
    );
    type Group = { keys: string[][]; size: number };
    const group = (keys: string[][]): Group => {
      const kept = keys.filter((key) => key.every((word) => count(word) > 0));
      return { keys: kept, size: sum(kept.map((key) => Math.min(...key.map(count)))) };
    };
    const bodies = (body === undefined ? [] : [body.line]).map((line) =>
      group(line.map((phrase) => phrase.split(' '))),
    );
    const same = [...bodies, ...asked.map((at) => group([[words[at]!]]))].filter(({ size }) => size > 0);
    const other = asked
      .map((at) => {
        const word = words[at]!;
        const forms = [...(near.get(word) ?? [])];
        if (at + 1 < words.length) forms.push(words[at]! + words[at + 1]!);
        if (at + 2 < words.length) forms.push(words[at]! + words[at + 1]! + words[at + 2]!);
        if (isHeavy(word) && count(word) === 0 && word.length >= 4 && word.length <= 30)
          forms.push(...vocabulary.filter((longer) => longer.startsWith(word)).slice(0, 20));
        const splits = sought.includes(word)
          ? [...[...word].slice(3).keys()]
              .map((at) => [word.slice(0, at + 2), word.slice(at + 2)])
              .filter(([a, b]) => a!.length >= 4 || b!.length >= 4)
          : [];
        return group([...[...new Set(forms)].map((form) => [form]), ...splits]);
      })
      .filter(({ size }) => size > 0);
    const sorted = stable([...same, ...other], ({ size }) => [size]);
    const any: Group[] = [];
    for (const one of sorted.slice(0, 3)) {
      if (sum([...any, one].map(({ size }) => size)) > CAPS.any) break;
      any.push(one);
    }
    const rest = stable(
      same.filter((one) => !any.includes(one)),
      ({ size }) => [size],
    );
    const has = (row: Row, one: string[][]) =>
      one.some((key) => key.every((word) => row.words.includes(word)));
    const read = (groups: string[][][], cap: number) =>
      rows.filter((row) => groups.every((one) => has(row, one))).slice(0, cap);
    const found = new Set<Row>();
    const take = (some: Row[]) => some.forEach((row) => void found.add(row));
    if (any.length > 0) take(read([any.flatMap(({ keys }) => keys)], CAPS.any));
    if (rest.length > 1) take(read([rest[0]!.keys, rest.slice(1, 4).flatMap(({ keys }) => keys)], CAPS.both));
    else if (any.length === 0 && sorted.length > 0) take(read([(rest[0] ?? sorted[0])!.keys], CAPS.both));
    const every = same.map(({ keys }) => keys);
    if (every.length > 1) take(read(every, CAPS.all));
    const candidates = rows.filter((row) => found.has(row));
    return {
      words: heavy.map((word) => ({ word, weight: weights[words.indexOf(word)]! })),
      ...oracleRank({ written: text, normalized, words }, weights, (word) => count(word) > 0, candidates),
    };
  };
}

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

/** Sorted by several numbers, ties in the order given. */
function stable<T>(items: T[], keyOf: (item: T) => number[]): T[] {
  return items.toSorted((one, other) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    const at = a.findIndex((value, index) => value !== b[index]);
    return at === -1 ? 0 : a[at]! - b[at]!;
  });
}
