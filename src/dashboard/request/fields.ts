/** Characters that a new password has. A sign-in takes shorter ones: earlier versions did. */
export const PASSWORD = { min: 12, max: 128 };

/** The fields of a form: text of bounded length, as it was sent. */
export type Fields = (name: string) => string;

/** @param params the form's body */
export function fieldsOf(params: URLSearchParams): Fields {
  return (name) => params.get(name) ?? '';
}

/** One `@`, a dot behind it, nothing that could end a mail header. better-auth checks it again. */
export function isEmail(text: string): boolean {
  return (
    text.length <= 254 &&
    /^[^\s<>@,;:"'()[\]\\\p{Cc}]+@[^\s<>@,;:"'()[\]\\\p{Cc}]+\.[a-z0-9-]{2,}$/iu.test(text)
  );
}
