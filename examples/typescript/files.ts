/** The files of the programs about lists: a table of suppliers to read, and a file that each run goes on with. */
import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs';

/** The text of a file in UTF-8, or in UTF-16 with its mark, as spreadsheets save it. Digits are right in any other encoding, too. */
export function textOf(path: string): string {
  if (!existsSync(path)) throw new Error(`${path}: No such file or directory`);
  if (statSync(path).isDirectory()) throw new Error(`${path}: Is a directory`);
  const data = readFileSync(path);
  const mark = data.toString('latin1', 0, 2);
  const encoding = mark === '\xff\xfe' ? 'utf-16le' : mark === '\xfe\xff' ? 'utf-16be' : 'utf-8';
  const text = new TextDecoder(encoding).decode(data);
  if (text.includes('\0')) throw new Error(`${path}: not UTF-8, nor UTF-16 with its mark. Save it as UTF-8`);
  return text;
}

/** Nine digits, with the separators that the API takes. A tab is none, because it separates columns. */
const NINE_DIGITS = /(?<![0-9])(?=([0-9](?:[ \u00a0\u202f.-]*[0-9]){8})(?![0-9]))/g;

function isValid(nif: string): boolean {
  const rest = [...nif.slice(0, 8)].reduce((sum, digit, place) => sum + Number(digit) * (9 - place), 0) % 11;
  return Number(nif[8]) === (rest < 2 ? 0 : 11 - rest);
}

/** The first valid NIF of each row, each once: of a list, or of a table of suppliers. A row that has none, or several, is told. */
export function nifsOf(path: string): string[] {
  const nifs = new Set<string>();
  for (const [number, row] of textOf(path)
    .split(/\r\n|\r|\n/)
    .entries()) {
    const digits = [...row.matchAll(NINE_DIGITS)].map(([, nine = '']) => nine.replaceAll(/[^0-9]/g, ''));
    const [first, ...others] = new Set(digits.filter(isValid));
    if (first !== undefined) nifs.add(first);
    if (others.length > 0) console.error(`only the first NIF is taken of: ${row}`);
    const isHeader = number === 0 && !/[0-9]/.test(row);
    if (first === undefined && row.trim() !== '' && !isHeader)
      console.error(`left out, no valid NIF: ${row}`);
  }
  if (nifs.size === 0) throw new Error(`${path}: no valid NIF in it`);
  return [...nifs];
}

/** The lines that runs before this one have written. The last one is cut off if its run was killed: it is removed. */
export function completeLines(path: string, begins: string): string[] {
  if (!existsSync(path)) return [];
  const data = readFileSync(path);
  if (data.length > 0 && !data.toString().startsWith(begins))
    throw new Error(`${path}: not written by this program`);
  const end = data.lastIndexOf('\n') + 1;
  truncateSync(path, end);
  return data.subarray(0, end).toString().split('\n').slice(0, -1);
}
