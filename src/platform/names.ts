/** Control and format characters, such as U+202E, which turns the rest of a line round, and ends of lines. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/u;

/** Whether a trimmed text can name an account, a key or a person: 1 to 200 characters, none that is not seen or rearranges a line. */
export function isName(text: string): boolean {
  return text !== '' && text.length <= 200 && !HIDDEN.test(text);
}
