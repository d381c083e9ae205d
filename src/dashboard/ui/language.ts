import { DAY, MINUTE } from '../../platform/units.ts';

export type Language = 'en' | 'pt';

export function languageOf(text: string | null): Language | null {
  return text === 'en' || text === 'pt' ? text : null;
}

/** The language that a query asks for by `lang`; `null` if it asks for none. The query is not parsed. */
export const languageIn = (search: string): Language | null =>
  languageOf(/[?&]lang=(en|pt)(?:&|$)/.exec(search)?.[1] ?? null);

/** The browser's preferred language of the two, by `Accept-Language` with its weights; English if it wants neither. */
export function preferredLanguage(acceptLanguage: string | null): Language {
  const ranges = (acceptLanguage ?? '').slice(0, 500).toLowerCase().split(',');
  const wanted = ranges.flatMap((range) => {
    const [, language, weight = '1'] = /^\s*(en|pt)\b[^;]*(?:;\s*q=([\d.]+))?/.exec(range) ?? [];
    return language === undefined || Number(weight) === 0 ? [] : { language, weight: Number(weight) };
  });
  wanted.sort((a, b) => b.weight - a.weight);
  return languageOf(wanted[0]?.language ?? null) ?? 'en';
}

export type Formats = ReturnType<typeof createFormats>;

/** One for each language: Intl's formatters are expensive to make. */
const FORMATS = new Map<Language, Formats>();

export function formatsOf(language: Language): Formats {
  const known = FORMATS.get(language) ?? createFormats(language);
  FORMATS.set(language, known);
  return known;
}

/** Numbers, instants and durations as a reader of the language writes them; everything in UTC, as the service counts. */
function createFormats(language: Language) {
  const locale = { en: 'en-GB', pt: 'pt-PT' }[language];
  const at = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' });
  const numbers = new Intl.NumberFormat(locale, { useGrouping: 'always' });
  const euros = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'EUR',
    useGrouping: 'always',
    trailingZeroDisplay: 'stripIfInteger',
  });
  const instants = at({ dateStyle: 'long', timeStyle: 'short' });
  const durations = new Intl.DurationFormat(locale, { style: 'long' });
  const months = at({ month: 'long', year: 'numeric' });
  const month = at({ month: 'short' });
  // Not Intl's own order of the two: Portuguese would get numbers only, `21/11`.
  const day = (value: Date) => `${value.getUTCDate()} ${month.format(value).replace(/\.$/, '')}`;
  const date = (value: Date) => `${day(value)} ${value.getUTCFullYear()}`;
  const moment = (value: Date) => `${date(value)}, ${value.toISOString().slice(11, 16)}`;
  return {
    number: (value: number) => numbers.format(value),
    /** `€7,500`, in Portuguese `7 500 €`. */
    euros: (value: number) => euros.format(value),
    /** A number with its sign, as a change is shown. */
    signed: (value: number) => `${value < 0 ? '−' : '+'}${numbers.format(Math.abs(value))}`,
    /** `21 November 2026 at 10:00 UTC`. */
    instant: (value: Date) => `${instants.format(value)} UTC`,
    /** `21 Nov 2026, 10:00`. */
    moment,
    /** An end in a mail as `endOf` has it on pages: `24 Nov 2026` for the midnight after that day, else `24 Nov 2026, 10:00 UTC`. */
    end: (value: Date) =>
      value.getTime() % DAY === 0 ? date(new Date(value.getTime() - 1)) : `${moment(value)} UTC`,
    /** `21 Nov 2026`. */
    date,
    /** `November 2026`. */
    month: months.format,
    /** `21 Nov`, for an axis. */
    day,
    /** `9 days, 3 hours`: the two largest units, rounded down; under a minute: `1 minute`. */
    duration(ms: number) {
      const minutes = Math.max(1, Math.floor(ms / MINUTE));
      const hours = Math.floor(minutes / 60);
      const days = Math.floor(hours / 24);
      return durations.format(days > 0 ? { days, hours: hours % 24 } : { hours, minutes: minutes % 60 });
    },
  };
}
