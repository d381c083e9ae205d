import { decodeHTMLStrict } from 'entities';
import { DIRECTIONS } from '../../platform/terminal/text.ts';

/** The longest text that is stored and answered. */
const MAX_CHARACTERS = 10_000;
/** The longest value that is cleaned, markup included. Cleaning 1 MiB of `<` would stop the process for half a second. */
const MAX_RAW_CHARACTERS = 2 * MAX_CHARACTERS;
/** The most members of a list, or lines of a text, that are read. */
const MAX_MEMBERS = 50;

/**
 * A comment, a script or style with its content, and any other tag. Each ends with the text if its own end is missing, and no two
 * alternatives fit the same character, so hostile text takes linear time.
 */
const MARKUP =
  /<(?:!--.*?(?:-->|$)|(script|style)(?=[\s/>]).*?(?:<\/\1[^>]*(?:>|$)|$)|[a-z/!?](?:"[^"]*(?:"|$)|[^>"])*(?:>|$))/gis;

/** Tags that stand inside a word. All others end it. */
const INLINE_TAG = /^<\/?(?:a|b|em|font|i|small|span|strong|sub|sup|u)(?=[\s/>]|$)/i;

/** They stand inside words. */
const TURNS = new RegExp(`[${DIRECTIONS}]`, 'g');

/** C0, DEL, C1, line and paragraph separators, and all white space. */
const CONTROLS_AND_SPACE = /[\p{Cc}\u2028\u2029\s]+/gu;

/**
 * The text of a provider's value, cleaned in this order: entities decoded exactly once, changes of
 * direction (U+202E) and tags removed, control characters and
 * white space replaced by single spaces, trimmed, well-formed Unicode. It reads the first 20,000 characters and returns at
 * most 10,000. Numbers become decimal text; of a list the first member with text counts; anything else is ''.
 *
 * Entities are first, because providers escape whole fragments of HTML (`&lt;p&gt;`). So `&amp;lt;b&amp;gt;` is the text `&lt;b&gt;`.
 */
export function cleanText(value: unknown): string {
  return cleanTexts(value)[0] ?? '';
}

/** {@link cleanText} of the first 50 members of a list, without empty ones. The bound of one value holds for the whole list. */
export function cleanTexts(value: unknown): string[] {
  const members: unknown[] = Array.isArray(value) ? value.slice(0, MAX_MEMBERS) : [value];
  let left = MAX_RAW_CHARACTERS;
  const texts = members.map((member) => {
    const raw = rawText(member).slice(0, left);
    left -= raw.length;
    return tidy(visibleText(raw));
  });
  return texts.filter((text) => text !== '');
}

/** {@link cleanText} of the first 50 lines, without empty ones. */
export function cleanLines(value: unknown): string[] {
  return visibleText(rawText(value).slice(0, MAX_RAW_CHARACTERS))
    .split(/[\r\n\u0085\u2028\u2029]+/, MAX_MEMBERS)
    .map(tidy)
    .filter((line) => line !== '');
}

/** Joins clean texts by commas, to at most 10,000 characters. */
export function joinTexts(texts: string[]): string {
  return shorten(texts.join(', '));
}

/** Writes a number without an exponent: 1e21 as '1000000000000000000000', 2.5e-7 as '0.00000025'. */
const PLAIN_NUMBER = new Intl.NumberFormat('en-US', {
  useGrouping: false,
  maximumFractionDigits: 100,
  signDisplay: 'negative',
});

function rawText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? PLAIN_NUMBER.format(value) : '';
}

function visibleText(raw: string): string {
  // Strict decoding wants the semicolon; otherwise `A&LTDA` would become `A<DA`.
  return withoutTagBeginnings(withoutTags(decodeHTMLStrict(raw).replace(TURNS, '')));
}

function withoutTags(html: string): string {
  return html.replace(MARKUP, (markup) => (INLINE_TAG.test(markup) ? '' : ' '));
}

/**
 * Removes every `<` that would begin a tag for a browser, because the text around a removed tag can form one (`<<b>i>`). (A
 * lookahead after `<+` would take quadratic time.)
 */
function withoutTagBeginnings(text: string): string {
  return text.replace(/<+/g, (run, at: number) =>
    /[A-Za-z/!?]/.test(text.charAt(at + run.length)) ? '' : run,
  );
}

function tidy(text: string): string {
  return shorten(text.toWellFormed().replace(CONTROLS_AND_SPACE, ' ').trim());
}

function shorten(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  const cut = text.slice(0, MAX_CHARACTERS);
  // Don't cut a surrogate pair.
  return (cut.isWellFormed() ? cut : cut.slice(0, -1)).trim();
}
