import { isObject } from '../../platform/runtime/json.ts';
import { HOUR, MINUTE } from '../../platform/units.ts';
import { capitalText, currencyText } from './capital.ts';
import { cleanText, cleanTexts, joinTexts } from './clean-text.ts';
import { createSource } from './company-source.ts';
import { type JsonObject, nifText } from './source-client.ts';
import { type CompanyDetails, type CompanySource, SourceError, type SourcesConfig } from './source-types.ts';

const NOT_FOUND = /^no records found\.?$/i;
const LIMIT = /\blimit per (minute|hour|day|month) reached\b/i;
const BAD_KEY = /\bkey is not valid\b/i;

/** The periods that a limit can be of. */
export const LIMIT_WINDOWS = ['minute', 'hour', 'day', 'month'] as const;
export type LimitWindow = (typeof LIMIT_WINDOWS)[number];

/**
 * How long nif.pt is not asked after a limit answer. It doesn't say when a period begins. A day's or a month's limit is tried again
 * every hour, so that newly bought credits are used soon.
 */
const PAUSE_MS: Record<LimitWindow, number> = { minute: MINUTE, hour: HOUR, day: HOUR, month: HOUR };

/**
 * The primary provider: `GET {url}?json=1&q=<nif>&key=<key>`. It answers everything with HTTP 200; `result` has the kind. After
 * a limit answer it is not asked for a while ({@link PAUSE_MS}, docs/architecture.md: a request).
 *
 * @param onLimit called for each answer that a limit is reached
 */
export function createNifPt(
  { nifPtUrl, nifPtKey, providerTimeoutMs }: SourcesConfig,
  now: () => number,
  onLimit: (window: LimitWindow) => void,
): CompanySource {
  const name = 'nif.pt';
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  return createSource(name, providerTimeoutMs, now, async (nif, question) => {
    if (now() < pausedUntilMs) throw new SourceError(name, 'skipped');
    const { body } = await question.ask({ url: questionUrl(nifPtUrl, nif, nifPtKey) });
    if (body.result === 'success') return { kind: 'found', details: detailsOf(ownRecord(body.records, nif)) };
    if (body.result !== 'error') throw new SourceError(name, 'unexpected');
    const message = cleanText(body.message);
    if (NOT_FOUND.test(message)) return { kind: 'not-found' };
    const window = LIMIT.exec(message)?.[1]?.toLowerCase() as LimitWindow | undefined;
    if (window === undefined)
      throw new SourceError(name, BAD_KEY.test(message) ? 'bad-key' : 'provider-error');
    pausedUntilMs = Math.max(pausedUntilMs, now() + PAUSE_MS[window]);
    onLimit(window);
    throw new SourceError(name, 'limit');
  });
}

function questionUrl(base: string, nif: string, key: string | null): URL {
  const url = new URL(base);
  url.searchParams.set('json', '1');
  url.searchParams.set('q', nif);
  if (key !== null) url.searchParams.set('key', key);
  return url;
}

/** The record of this NIF, under its key and with its `nif`; anything else is about another company. */
function ownRecord(records: unknown, nif: string): JsonObject {
  const record = isObject(records) ? records[nif] : undefined;
  if (isObject(record) && nifText(record.nif) === nif) return record;
  const hasRecords = isObject(records) && Object.keys(records).some((key) => key !== nif || isObject(record));
  throw new SourceError('nif.pt', hasRecords ? 'wrong-company' : 'unexpected');
}

function detailsOf(record: JsonObject): CompanyDetails {
  const structure = isObject(record.structure) ? record.structure : {};
  const area = cleanText(record.pc4);
  const street = cleanText(record.pc3);
  return {
    title: cleanText(record.title),
    address: joinTexts(cleanTexts(record.address)),
    zipcode: area && street ? `${area}-${street}` : area,
    city: cleanText(record.city),
    activity: joinTexts(cleanTexts(record.activity)),
    status: cleanText(record.status),
    cae: cleanText(record.cae),
    structure: {
      nature: cleanText(structure.nature),
      capital: capitalText(structure.capital),
      capital_currency: currencyText(structure.capital_currency),
    },
  };
}
