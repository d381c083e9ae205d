/** Recognizes files that an import can't read, such as Excel's, and says how to convert them (docs/imports.md: files). */

import { FileError } from '../../platform/terminal/file-error.ts';

const SAVE_AS_CSV =
  'save the sheet as "CSV UTF-8", or convert it with' +
  " soffice --headless --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76'";

/** The kinds by their first bytes as Latin-1; the first that fits. */
const KINDS: [RegExp, string][] = [
  [
    // Office files since 2007 are ZIP archives with these entries.
    /^\xd0\xcf\x11\xe0|^(?=PK).*PK\x03\x04.{26}(xl\/|word\/|ppt\/|\[Content_Types\]\.xml|mimetype)/s,
    `an Excel workbook or another office file: ${SAVE_AS_CSV}`,
  ],
  [/^PK[\x03\x05]/, 'a ZIP archive: unpack it, or give the one file in it to standard input (unzip -p)'],
  [/^\x1f\x8b/, 'packed with gzip twice: unpack it once (gunzip)'],
  [
    /^(BZh[1-9]|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf)/,
    'packed, but not with gzip: unpack it, or give it to standard input (bzcat, xzcat, zstdcat, 7z x -so)',
  ],
  [/^(\xff\xfe|\xfe\xff|\0[^\0]|[^\0]\0)/, 'UTF-16, not UTF-8: convert it with iconv -f UTF-16 -t UTF-8'],
  [/^%PDF-/, 'a PDF, which has no rows: get the same data as CSV or JSON Lines'],
  [
    /^(\xef\xbb\xbf)?\s*<(!doctype|html|head|body|table|meta|\?xml)\b/i,
    'an HTML page or XML: get the data as CSV or JSON Lines; a page often stands for an error or a sign-in',
  ],
];

/**
 * @param head the file's first bytes as Latin-1
 * @throws {FileError} a spreadsheet, an archive, a PDF, a page, or text in UTF-16
 */
export function refuseForeign(name: string, head: string): void {
  const kind = KINDS.find(([pattern]) => pattern.test(head));
  if (kind !== undefined) throw new FileError(`${name}: is ${kind[1]}`);
}

/** The refusal of a JSON document. @param path the file, for the command that makes JSON Lines of it */
export function documentError(fileName: string, path: string, command: string): FileError {
  const file = /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
  const filter = "jq -c '.[]'";
  const lines = /\.gz$/i.test(path) ? `zcat ${file} | ${filter}` : `${filter} ${file}`;
  return new FileError(
    `${fileName}: is a JSON document: make JSON Lines of it: ${lines} | bun directory ${command} - … ` +
      "('.NAME[]' for a list that is a member)",
  );
}
