/**
 * A quoted CSV field that neither a spreadsheet nor a terminal obeys: control characters and line breaks become
 * spaces, as do marks that reverse text; what a spreadsheet would take for a formula gets an apostrophe in front, also
 * behind a semicolon or bar, where a spreadsheet that separates by those begins a cell whatever the quotes say.
 */
export function csvCell(text: string): string {
  const plain = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, ' ')
    .replace(/^(?=\s*[=+\-@＝＋－＠])/u, "'")
    .replace(/([;|]["'\s]*)(?=[=@＝＋－＠]|[+-](?!\d+(?:[.,]\d+)?(?:["\s]*[;|]|["\s]*$)))/gu, "$1'");
  const guarded = /^[\t\r]/.test(text) && !plain.startsWith("'") ? `'${plain}` : plain;
  return `"${guarded.replaceAll('"', '""')}"`;
}
