/** Recognizes files that are often taken for data by their first bytes, and refuses them with advice. */

import { FileError } from '../../platform/terminal/file-error.ts';
import type { Cursor } from './cursor.ts';

const SAVE_AS_CSV =
  'save the sheet as "CSV UTF-8", or convert it with' +
  " soffice --headless --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76'";

/** A ZIP archive with an entry of this name or folder. */
const zipWith = (entry: string) => new RegExp(`^(?=PK[\x03\x05]).*PK\x03\x04.{26}${entry}`, 's');

const unpacked = (kind: string, command: string) =>
  `packed with ${kind}: unpack it, or give it to standard input (${command}); of packed files only gzip is read`;

/** The kinds by their first bytes as Latin-1; the first that fits. */
const KINDS: [RegExp, string][] = [
  [
    zipWith('mimetypeapplication/vnd.oasis.opendocument.spreadsheet'),
    `an OpenDocument spreadsheet: ${SAVE_AS_CSV}`,
  ],
  [zipWith('xl/'), `an Excel workbook: ${SAVE_AS_CSV}`],
  [
    zipWith('(word|ppt)/'),
    'a document or presentation, which has no rows: get the same data as CSV or JSON Lines',
  ],
  [zipWith('\\[Content_Types\\].xml'), `an Excel workbook: ${SAVE_AS_CSV}`],
  [
    /^PK(\x03\x04|\x05\x06)/,
    'a ZIP archive: unpack it, or give the one file in it to standard input (unzip -p)',
  ],
  [
    /^\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1/,
    `an old Office file, likely an Excel workbook (.xls): ${SAVE_AS_CSV}`,
  ],
  [/^\x1f\x8b/, 'packed with gzip twice: unpack it once (gunzip)'],
  [/^BZh[1-9]1AY&SY/, unpacked('bzip2', 'bzcat')],
  [/^\xfd7zXZ\0/, unpacked('xz', 'xzcat')],
  [/^\x28\xb5\x2f\xfd/, unpacked('zstd', 'zstdcat')],
  [/^7z\xbc\xaf/, unpacked('7z', '7z x -so')],
  [/^%PDF-/, 'a PDF, which has no rows: get the same data as CSV or JSON Lines'],
  [
    /^(\xef\xbb\xbf)?\s*<(!doctype html|html|head|body|table|meta)\b/i,
    'an HTML page: get the data file itself; a page often stands for an error or a sign-in',
  ],
  [/^(\xef\xbb\xbf)?\s*<(\?xml|!doctype)\b/i, 'XML: convert it to CSV or JSON Lines'],
];

/** @throws {FileError} a spreadsheet, an archive, a PDF, or a page */
export function refuseOtherKinds(name: string, { bytes, end }: Cursor): void {
  const text = bytes.toString('latin1', 0, end);
  const kind = KINDS.find(([pattern]) => pattern.test(text));
  if (kind !== undefined) throw new FileError(`${name}: is ${kind[1]}`);
}
