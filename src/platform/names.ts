/** Whether a trimmed text can name an account, a key or a person: 1 to 200 characters without control characters. */
export function isName(text: string): boolean {
  return text !== '' && text.length <= 200 && !/\p{Cc}/u.test(text);
}
