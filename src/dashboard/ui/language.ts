import { DAY, HOUR, MINUTE } from '../../units.ts';

export type Language = 'en' | 'pt';

const COOKIE = 'dashboard.language';
const COOKIE_SHAPE = /(?:^|;\s*)dashboard\.language=(en|pt)(?:;|$)/;
const YEAR_S = 31_536_000;

export function languageOf(text: string | null): Language | null {
  return text === 'en' || text === 'pt' ? text : null;
}

/** The language that the reader has chosen in this browser. */
export function chosenLanguage(cookie: string | null): Language | null {
  return languageOf(COOKIE_SHAPE.exec(cookie ?? '')?.[1] ?? null);
}

/** The `Set-Cookie` that keeps a choice for a year. */
export function languageCookie(
  language: Language,
  { path, secure }: { path: string; secure: boolean },
): string {
  const attributes = `Path=${path}; Max-Age=${YEAR_S}; HttpOnly; SameSite=Lax`;
  return `${COOKIE}=${language}; ${attributes}${secure ? '; Secure' : ''}`;
}

/** The browser's preferred language of the two, by `Accept-Language` with its weights; English if it wants neither. */
export function preferredLanguage(acceptLanguage: string | null): Language {
  let best: { language: Language; weight: number } = { language: 'en', weight: 0 };
  for (const entry of (acceptLanguage ?? '').slice(0, 500).split(',')) {
    const [range = '', ...parameters] = entry.trim().toLowerCase().split(';');
    const language = range.split('-', 1)[0];
    if (language !== 'en' && language !== 'pt') continue;
    const q = parameters
      .map((parameter) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(parameter)?.[1])
      .find(Boolean);
    const weight = q === undefined ? 1 : Number(q);
    if (weight > best.weight) best = { language, weight };
  }
  return best.language;
}

/** Numbers, instants and durations as a reader of the language writes them; everything in UTC, as the service counts. */
export interface Formats {
  number(value: number): string;
  /** `21 November 2026 at 10:00 UTC`. */
  instant(value: Date): string;
  /** `21 Nov 2026, 10:00`. */
  moment(value: Date): string;
  /** `21 Nov 2026`. */
  date(value: Date): string;
  /** `21 Nov`, for an axis. */
  day(value: Date): string;
  /** `9 days 3 hours`: the two largest units, rounded down; under a minute: `1 minute`. */
  duration(ms: number): string;
}

/** One for each language: Intl's formatters are expensive to make. */
const FORMATS = new Map<Language, Formats>();

export function formatsOf(language: Language): Formats {
  const known = FORMATS.get(language) ?? createFormats(language);
  FORMATS.set(language, known);
  return known;
}

function createFormats(language: Language): Formats {
  const locale = { en: 'en-GB', pt: 'pt-PT' }[language];
  const at = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' });
  const numbers = new Intl.NumberFormat(locale, { useGrouping: 'always' });
  const instants = at({ dateStyle: 'long', timeStyle: 'short' });
  const month = at({ month: 'short' });
  // Not Intl's own order of the two: Portuguese would get numbers only, `21/11`.
  const day = (value: Date) => `${value.getUTCDate()} ${month.format(value).replace(/\.$/, '')}`;
  const unit = (name: string) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: name, unitDisplay: 'long' });
  const units = [
    { ms: DAY, format: unit('day') },
    { ms: HOUR, format: unit('hour') },
    { ms: MINUTE, format: unit('minute') },
  ];
  return {
    number: (value) => numbers.format(value),
    instant: (value) => `${instants.format(value)} UTC`,
    moment: (value) => `${day(value)} ${value.getUTCFullYear()}, ${value.toISOString().slice(11, 16)}`,
    date: (value) => `${day(value)} ${value.getUTCFullYear()}`,
    day,
    duration(ms) {
      const counts: string[] = [];
      let left = Math.max(ms, MINUTE);
      const largest = units.findIndex((unit) => left >= unit.ms);
      for (const { ms: size, format } of units.slice(largest, largest + 2)) {
        const count = Math.floor(left / size);
        if (count > 0) counts.push(format.format(count));
        left -= count * size;
      }
      return counts.join(language === 'pt' ? ' e ' : ' ');
    },
  };
}
