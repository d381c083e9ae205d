/**
 * A quoted CSV field that is safe for spreadsheets and terminals. Control characters, line breaks and marks that reverse text
 * become spaces. A formula gets an apostrophe in front. So does text behind a semicolon or bar, because a spreadsheet that separates
 * by those begins a cell there despite the quotes.
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
