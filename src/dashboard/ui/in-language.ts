/**
 * A text in English and Portuguese: a pair, or a line of each if the pair is too long for one. `{name}` stands for a value. ` | ` divides
 * what is said of one from what is said of any other number, which is the first value.
 */
type Text = readonly [en: string, pt: string] | `${string}\n${string}`;
export interface Texts {
  [name: string]: Text | Texts;
}

type English<T> = T extends readonly [infer Text, string] | `\n${infer Text}\n${string}`
  ? Text
  : T extends `${infer Text}\n${string}`
    ? Text
    : never;
/** The values of a text, each once, in the order of the English one. */
type Values<T, Known = never> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name extends Known
    ? Values<Rest, Known>
    : [value: string, ...Values<Rest, Known | Name>]
  : [];
type Filled<T> = Values<T> extends [] ? string : (...values: Values<T>) => string;
/** The texts in one language. A text with values is a function of them. */
export type InOne<T> = {
  [Name in keyof T]: T[Name] extends Text ? Filled<English<T[Name]>> : InOne<T[Name]>;
};

const VALUE = /\{\w+\}/g;

/** The text, or a function that puts values into it. */
function filled(english: string, text: string) {
  const names = [...new Set(english.match(VALUE))];
  if (names.length === 0) return text;
  const [ofOne, ofMany = ofOne] = text.split(' | ') as [string, string?];
  return (...values: string[]) =>
    (values[0] === '1' ? ofOne : ofMany).replace(VALUE, (name) => values[names.indexOf(name)]!);
}

/** @param index 0 means English, 1 Portuguese */
export function inLanguage<T extends Texts>(texts: T, index: 0 | 1): InOne<T> {
  const one = (text: Text | Texts) => {
    if (!Array.isArray(text) && typeof text !== 'string') return inLanguage(text as Texts, index);
    const both = typeof text === 'string' ? text.trim().split(/\n +(.*)/s) : text;
    return filled(both[0]!, both[index]!);
  };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, one(text)])) as InOne<T>;
}
