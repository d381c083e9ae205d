import { cleanLines, cleanText, joinTexts } from './clean-text.ts';
import { createSource } from './company-source.ts';
import { type JsonObject, nifText, urlUnder } from './source-client.ts';
import { type CompanyDetails, type CompanySource, SourceError, type SourcesConfig } from './source-types.ts';

const POSTAL_LINE = /^(\d{4}(?:-\d{3})?)(?:\s+(.*))?$/;

/**
 * The EU's VAT register: `GET {url}/ms/PT/vat/<nif>`. It has only name and address, and only of companies registered for trade
 * inside the EU. So "invalid" is `unknown`, never a 404 (docs/api.md: not found). It answers faults with HTTP 200, too.
 */
export function createVies(config: SourcesConfig, now: () => number): CompanySource {
  return createSource('vies', config.providerTimeoutMs, now, async (nif, question) => {
    const { body } = await question.ask({ url: urlUnder(config.viesUrl, `/ms/PT/vat/${nif}`) });
    const hasErrors = Array.isArray(body.errorWrappers) && body.errorWrappers.length > 0;
    if (body.actionSucceed === false || hasErrors) throw new SourceError('vies', 'provider-error');
    if (typeof body.isValid !== 'boolean') throw new SourceError('vies', 'unexpected');
    const verdict = cleanText(body.userError).toUpperCase();
    // VIES repeats the number. An answer without one is accepted.
    const own = nifText(body.vatNumber);
    if (own !== '' && own !== nif && own !== `PT${nif}`) throw new SourceError('vies', 'wrong-company');
    if (body.isValid && (verdict === 'VALID' || verdict === ''))
      return { kind: 'found', details: detailsOf(body) };
    if (!body.isValid && verdict === 'INVALID') return { kind: 'unknown' };
    throw new SourceError('vies', 'provider-error');
  });
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
    structure: { nature: '', capital: '0', capital_currency: 'EUR' },
  };
}

/** VIES writes '---' for a value that a member state withholds. */
function isSupplied(text: string): boolean {
  return !/^-+$/.test(text);
}
