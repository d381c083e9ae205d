/** A name of an account, a key or a person: 1 to 200 characters, none of them control characters. Trim it before. */
export function isName(text: string): boolean {
  return text !== '' && text.length <= 200 && !/\p{Cc}/u.test(text);
}
