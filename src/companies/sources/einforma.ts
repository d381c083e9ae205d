import { aborted } from 'node:util';
import { SECOND } from '../../platform/units.ts';
import { capitalText } from './capital.ts';
import { cleanText, cleanTexts, joinTexts } from './clean-text.ts';
import { createSource } from './company-source.ts';
import { type JsonObject, nifText, type Question, urlUnder } from './source-client.ts';
import {
  type CompanyDetails,
  type CompanySource,
  isOfSource,
  SourceError,
  type SourcesConfig,
} from './source-types.ts';

/** The members of a report that can name its company. */
const IDENTIFIERS = ['identificativo', 'nif', 'nipc', 'cif'];

/** `localidad` can begin with the postal code, and `cnae` is a code with a description behind it. */
const POSTAL_CITY = /^(\d{4}-\d{3}|\d{4,5})\s+(\S.*)$/;
const CODE_AND_ACTIVITY = /^(\d{2,6})(?:\s*[-–:.]\s*|\s+)(\S.*)$/;

/**
 * A commercial registry with OAuth client credentials: `GET {url}/companies/<nif>/report`. A 404 with a JSON body, under an
 * accepted token, is a definite "no such company". After a 401 the token is renewed once, within the same timeout.
 */
export function createEinforma(config: SourcesConfig, now: () => number): CompanySource {
  const tokens = createTokens(config, now);

  async function report(nif: string, token: string, question: Question) {
    const url = urlUnder(config.einformaUrl, `/companies/${nif}/report`);
    const headers = { authorization: `Bearer ${token}` };
    return question.ask({ url, headers, accept: [404], bare: [401] });
  }

  return createSource('einforma', config.providerTimeoutMs, now, async (nif, question) => {
    const token = await tokens.get(question);
    let answer = await report(nif, token, question);
    if (answer.status === 401) {
      tokens.forget(token);
      answer = await report(nif, await tokens.get(question), question);
    }
    if (answer.status === 401) throw new SourceError('einforma', 'bad-key');
    if (answer.status === 404) return { kind: 'not-found' };
    return { kind: 'found', details: detailsOf(answer.body, nif) };
  });
}

/** The members of a report are documented for Spain, and unconfirmed for Portugal. */
function detailsOf(report: JsonObject, nif: string): CompanyDetails {
  for (const member of IDENTIFIERS) {
    const own = identifier(report[member]);
    if (own !== '' && own !== nif) throw new SourceError('einforma', 'wrong-company');
  }
  const text = (member: string) => cleanText(report[member]);
  const title = text('denominacion');
  if (title === '') throw new SourceError('einforma', 'unexpected');
  const city = text('localidad');
  const [, cityZipcode = '', cityName = city] = POSTAL_CITY.exec(city) ?? [];
  const cae = text('cnae');
  const [, code = cae, codeActivity = ''] = CODE_AND_ACTIVITY.exec(cae) ?? [];
  return {
    title,
    address: joinTexts(cleanTexts(report.domicilioSocial)),
    zipcode: text('codigoPostal') || cityZipcode,
    city: cityName,
    activity: text('actividad') || text('objetoSocial') || codeActivity,
    status: text('situacion'),
    cae: code,
    structure: {
      nature: text('formaJuridica'),
      capital: capitalText(report.capitalSocial),
      capital_currency: 'EUR',
    },
  };
}

/** An identifier without separators and the country's prefix; '' if it is absent. */
function identifier(value: unknown): string {
  return nifText(value)
    .replace(/[\s.-]/g, '')
    .replace(/^PT/i, '');
}

/** A token isn't used for this long before its end, because it could expire in flight. */
const EXPIRY_MARGIN_MS = 30 * SECOND;
/** OAuth leaves `expires_in` optional (RFC 6749, 5.1). */
const DEFAULT_LIFETIME_S = 300;

/** OAuth client credentials at `POST {url}/oauth/token`. One request for a token runs at a time; all callers share it. */
function createTokens(config: SourcesConfig, now: () => number) {
  let current: { token: string; usableUntilMs: number } | undefined;
  let pending: Promise<string> | undefined;

  async function request(question: Question): Promise<string> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      // `readConfig` refuses this registry without credentials.
      client_id: config.einformaClientId!,
      client_secret: config.einformaClientSecret!,
      scope: 'buscar:consultar:empresas',
    });
    const askedAtMs = now();
    const { status, body } = await question.ask({
      url: urlUnder(config.einformaUrl, '/oauth/token'),
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
      // The statuses for wrong credentials (RFC 6749, 5.2).
      bare: [400, 401],
    });
    if (status >= 400) throw new SourceError('einforma', 'bad-key');
    const { access_token: token, expires_in: lifetime } = body;
    // The token goes into a header, so it must have the characters that RFC 6750 allows.
    if (typeof token !== 'string' || !/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) {
      throw new SourceError('einforma', 'unexpected');
    }
    const lifetimeMs = (Number(lifetime) > 0 ? Number(lifetime) : DEFAULT_LIFETIME_S) * SECOND;
    // A token that lives for a minute or less is used for the first half of its life.
    const margin = Math.min(EXPIRY_MARGIN_MS, lifetimeMs / 2);
    current = { token, usableUntilMs: askedAtMs + lifetimeMs - margin };
    return token;
  }

  return {
    /** A valid token; requests one if there is none or it is about to expire. */
    async get(question: Question): Promise<string> {
      const { signal } = question;
      for (;;) {
        if (current && now() < current.usableUntilMs) return current.token;
        if (pending === undefined) break;
        const timeout = aborted(signal, signal).then(() => {
          throw new SourceError('einforma', signal.reason);
        });
        // The question that requests it may time out, or not be permitted, and not this one, which then looks again.
        const shared = pending.catch((error) => {
          if (isOfSource(error) && error.reason !== 'timeout') throw error;
          return null;
        });
        const token = await Promise.race([shared, timeout]);
        if (token !== null) return token;
      }
      const requested = request(question).finally(() => {
        pending = undefined;
      });
      pending = requested;
      return requested;
    },
    /** Drops a token that was refused, so that the next `get` requests another one. */
    forget(token: string): void {
      if (current?.token === token) current = undefined;
    },
  };
}
