import { createBreaker } from './breaker.ts';
import { cleanLines, cleanText, joinTexts } from './clean-text.ts';
import { createJsonClient, type JsonObject, urlUnder } from './http.ts';
import {
  type Admit,
  type CompanyDetails,
  type CompanySource,
  type SourceAnswer,
  SourceError,
  type SourcesConfig,
} from './types.ts';

const POSTAL_LINE = /^(\d{4}(?:-\d{3})?)(?:\s+(.*))?$/;

/**
 * The EU's VAT register: `GET {url}/ms/PT/vat/<nif>`. It has only name and address, and only of companies registered for trade
 * inside the EU. So "invalid" is `unknown`, never a 404 (contract: not found). It answers faults with HTTP 200, too.
 */
export function createVies(config: SourcesConfig, now: () => number): CompanySource {
  const name = 'vies';
  const client = createJsonClient(name, config.providerTimeoutMs);
  const guarded = createBreaker(name, now);

  async function ask(nif: string, admit: Admit): Promise<SourceAnswer> {
    const { body } = await client.begin(admit).ask({ url: urlUnder(config.viesUrl, `/ms/PT/vat/${nif}`) });
    if (body.actionSucceed === false || hasMembers(body.errorWrappers))
      throw new SourceError(name, 'provider-error');
    if (typeof body.isValid !== 'boolean') throw new SourceError(name, 'unexpected');
    const verdict = cleanText(body.userError).toUpperCase();
    if (!isAbout(body, nif)) throw new SourceError(name, 'wrong-company');
    if (body.isValid && (verdict === 'VALID' || verdict === ''))
      return { kind: 'found', details: detailsOf(body) };
    if (!body.isValid && verdict === 'INVALID') return { kind: 'unknown' };
    throw new SourceError(name, 'provider-error');
  }

  return {
    name,
    find: (nif, admit = async () => {}) => guarded(nif, () => ask(nif, admit)),
    close: () => client.close(),
  };
}

function hasMembers(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Whether the answer is about this NIF. VIES repeats the number; an answer without one is accepted. */
function isAbout(body: JsonObject, nif: string): boolean {
  const { vatNumber } = body;
  const number = typeof vatNumber === 'number' ? String(vatNumber).padStart(9, '0') : cleanText(vatNumber);
  return number === '' || number === nif || number === `PT${nif}`;
}

function detailsOf(body: JsonObject): CompanyDetails {
  const lines = cleanLines(body.address).filter(isSupplied);
  const [postalLine, zipcode = '', city = ''] = POSTAL_LINE.exec(lines.at(-1) ?? '') ?? [];
  if (postalLine !== undefined) lines.pop();
  const title = cleanText(body.name);
  return {
    title: isSupplied(title) ? title : '',
    address: joinTexts(lines),
    zipcode,
    city,
    activity: '',
    status: '',
    cae: '',
    nature: '',
    capital: '0',
    capitalCurrency: 'EUR',
  };
}

/** VIES writes '---' for a value that a member state withholds. */
function isSupplied(text: string): boolean {
  return !/^-+$/.test(text);
}
