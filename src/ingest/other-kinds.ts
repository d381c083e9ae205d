/** Recognizes files that are often taken for data by their first bytes, and refuses them with advice. */
import type { Cursor } from './cursor.ts';
import { FileError } from './file-error.ts';

const SAVE_AS_CSV =
  'save the sheet as "CSV UTF-8", or convert it with' +
  " soffice --headless --convert-to 'csv:Text - txt - csv (StarCalc):44,34,76'";

/** @throws {FileError} a spreadsheet, an archive, a PDF, or a page */
export function refuseOtherKinds(name: string, { bytes, end }: Cursor): void {
  const text = bytes.toString('latin1', 0, end);
  const is = (what: string) => {
    throw new FileError(`${name}: is ${what}`);
  };
  if (/^PK(\x03\x04|\x05\x06)/.test(text)) {
    const has = (entry: string) => new RegExp(`PK\x03\x04.{26}${entry}`, 's').test(text);
    if (has('mimetypeapplication/vnd.oasis.opendocument.spreadsheet'))
      is(`an OpenDocument spreadsheet: ${SAVE_AS_CSV}`);
    if (has('xl/')) is(`an Excel workbook: ${SAVE_AS_CSV}`);
    if (has('word/') || has('ppt/'))
      is('a document or presentation, which has no rows: get the same data as CSV or JSON');
    if (has('\\[Content_Types\\].xml')) is(`an Excel workbook: ${SAVE_AS_CSV}`);
    is('a ZIP archive: unpack it, or give the one file in it to standard input (unzip -p)');
  }
  if (text.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'))
    is(`an old Office file, likely an Excel workbook (.xls): ${SAVE_AS_CSV}`);
  if (text.startsWith('%PDF-')) is('a PDF, which has no rows: get the same data as CSV or JSON');
  const start = text
    .slice(0, 1_000)
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  if (/^<(!doctype html|html|head|body|table|meta)\b/i.test(start))
    is('an HTML page: get the data file itself; a page often stands for an error or a sign-in');
  if (/^<(\?xml|!doctype)\b/i.test(start)) is('XML: convert it to CSV or JSON');
}
