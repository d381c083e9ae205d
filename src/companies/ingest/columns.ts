/** The columns that an import reads, by our names and by the file's (docs/imports.md: files). */

export interface FileColumn {
  /** Our name, e.g. `nif`. */
  readonly name: string;
  /** The file's name: the text of a header, or a member of a JSON object; a dot reads a member of an object. */
  readonly source: string;
}

/** The file's name of each of our columns. A column that is missing here has the same name in the file. */
export type ColumnNames = Readonly<Record<string, string>>;

export function namedColumns(names: readonly string[], sources: ColumnNames = {}): FileColumn[] {
  return names.map((name) => ({ name, source: sources[name] ?? name }));
}

/** The form in which names are compared: trimmed, in lower case, and with one encoding of accents. */
export function comparable(name: string): string {
  return name.trim().toLowerCase().normalize('NFC');
}

/** Usual names of a column, the likeliest first, in Portuguese and English, and GLEIF's. */
const LIKELY: Record<string, RegExp[]> = {
  nif: [/^(nif|nipc)$/i, /nif|nipc/i, /contribuinte|registrationauthorityentityid|registeredas|\bvat\b/i],
  legal_name: [/legal.?name/i, /desig|denomina|raz[aã]o|firma/i, /nome|name/i, /^(ds|desc)_/i],
  start: [/start/i, /in[ií]cio|\bm[ií]n|from|desde/i],
  end: [/(^|[._ ])end$/i, /fim|\bm[aá]x|until|até/i],
};

/**
 * Advice to use `--columns`, with the names that look right.
 * @param found the file's names, as written
 */
export function columnAdvice(missing: readonly FileColumn[], found: readonly string[]): string {
  const argument = missing.map(({ name }) => `${name}=${likeliest(name, found) ?? 'NAME'}`).join(',');
  const word = /^[\w=.,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
  return `: say which it is, for instance --columns ${word}`;
}

function likeliest(name: string, found: readonly string[]): string | null {
  for (const pattern of LIKELY[name] ?? []) {
    const matching = found.filter((candidate) => candidate.length <= 100 && pattern.test(candidate));
    if (matching.length > 0) return matching.toSorted((a, b) => a.length - b.length)[0]!.trim();
  }
  return null;
}

/** Names for a message: the first dozen, quoted and cut. */
export function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, 12).map((name) => JSON.stringify(name.trim().slice(0, 60)));
  if (names.length > shown.length) shown.push(`and ${names.length - shown.length} more`);
  return shown.join(', ');
}
