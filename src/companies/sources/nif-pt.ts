import { DEFAULT_NIF_PT_URL } from '../../platform/config/config.ts';
import { isObject } from '../../platform/runtime/json.ts';
import { DAY, HOUR, MINUTE } from '../../platform/units.ts';
import { capitalText, currencyText } from './capital.ts';
import { cleanText, cleanTexts, joinTexts } from './clean-text.ts';
import { createSource } from './company-source.ts';
import { type JsonObject, nifText } from './source-client.ts';
import {
  type CompanyDetails,
  type CompanySource,
  isOfSource,
  SourceError,
  type SourcesConfig,
} from './source-types.ts';

const NOT_FOUND = /^no records found\.?$/i;
const LIMIT = /\blimit per (minute|hour|day|month) reached\b/i;
const BAD_KEY = /\bkey is not valid\b/i;

export type LimitWindow = 'minute' | 'hour' | 'day' | 'month';

/** Rolling windows, because nif.pt doesn't say when a period begins. */
const WINDOW_MS: Record<LimitWindow, number> = { minute: MINUTE, hour: HOUR, day: DAY, month: 30 * DAY };
/** Within a longer window nif.pt is asked this often, so that newly bought credits are used before its end. */
const PROBE_EVERY_MS = 1 * HOUR;

/** The default URL isn't asked without a key (docs/configuration.md, NIF_PT_KEY). */
export function isDefaultNifPtUrl(url: string): boolean {
  return new URL(url).href === DEFAULT_NIF_PT_URL;
}

/**
 * The primary provider: `GET {url}?json=1&q=<nif>&key=<key>`. It answers everything with HTTP 200; `result` has the kind. After
 * a limit answer it is asked once an hour only, until the named window ends or it gives an answer (docs/architecture.md: a request).
 *
 * @param onLimit called for each answer that a limit is reached
 */
export function createNifPt(
  { nifPtUrl, nifPtKey, providerTimeoutMs }: SourcesConfig,
  now: () => number,
  onLimit: (window: LimitWindow) => void,
): CompanySource {
  const name = 'nif.pt';
  let limitedUntilMs = Number.NEGATIVE_INFINITY;
  let nextProbeMs = Number.NEGATIVE_INFINITY;

  function limitReached(window: LimitWindow): SourceError {
    limitedUntilMs = Math.max(limitedUntilMs, now() + WINDOW_MS[window]);
    nextProbeMs = Math.max(nextProbeMs, now() + PROBE_EVERY_MS);
    onLimit(window);
    return new SourceError(name, 'limit');
  }

  const source = createSource(name, providerTimeoutMs, now, async (nif, question) => {
    const { body } = await question.ask({ url: questionUrl(nifPtUrl, nif, nifPtKey) });
    if (body.result === 'success') return { kind: 'found', details: detailsOf(ownRecord(body.records, nif)) };
    if (body.result !== 'error') throw new SourceError(name, 'unexpected');
    const message = cleanText(body.message);
    if (NOT_FOUND.test(message)) return { kind: 'not-found' };
    const window = LIMIT.exec(message)?.[1];
    if (window) throw limitReached(window.toLowerCase() as LimitWindow);
    throw new SourceError(name, BAD_KEY.test(message) ? 'bad-key' : 'provider-error');
  });

  return {
    ...source,
    async find(nif, permit) {
      const isProbe = now() < limitedUntilMs;
      if (!isProbe) return source.find(nif, permit);
      if (now() < nextProbeMs) throw new SourceError(name, 'skipped');
      nextProbeMs = now() + PROBE_EVERY_MS;
      try {
        const answer = await source.find(nif, permit);
        limitedUntilMs = Number.NEGATIVE_INFINITY;
        return answer;
      } catch (error) {
        // The question was not asked, so the next lookup may ask it.
        if (!isOfSource(error)) nextProbeMs = now();
        throw error;
      }
    },
  };
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
