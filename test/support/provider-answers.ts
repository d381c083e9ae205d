/** Answers in the providers' own formats, as the real ones were seen to give them. */

type Json = Record<string, unknown>;

/** An answer as it goes over the wire; a plain object in its place is a 200 with that JSON. */
export interface WireAnswer {
  status: number;
  headers?: Record<string, string>;
  body: string | Uint8Array;
}

/** nif.pt's answer for a company; `overrides` replaces or adds members of the record. */
export function nifPtFound(nif: string, overrides: Json = {}): Json {
  const record = {
    nif: Number(nif),
    seo_url: 'empresa-exemplo',
    title: 'Empresa Exemplo Lda',
    address: 'Rua das Flores, 12',
    pc4: '4465',
    pc3: '671',
    city: 'Leça do Balio',
    activity: 'Programação informática',
    status: 'active',
    cae: '62010',
    contacts: { email: null, phone: '220000000', website: null, fax: null },
    structure: { nature: 'LDA', capital: '5000.00', capital_currency: 'EUR' },
    geo: { region: 'Porto', county: 'Matosinhos', parish: 'Leça do Balio' },
    place: { address: 'Rua das Flores, 12', pc4: '4465', pc3: '671', city: 'Leça do Balio' },
    ...overrides,
  };
  return {
    result: 'success',
    records: { [nif]: record },
    nif_validation: true,
    is_nif: true,
    credits: { used: 'free', left: [] },
  };
}

/** nif.pt's form for everything that isn't a company. */
export function nifPtError(message: string): Json {
  return { result: 'error', message, nif_validation: true, is_nif: true };
}

export const nifPtNotFound = (): Json => nifPtError('No records found');

export const nifPtBadKey = (): Json => nifPtError('Key is not valid.');

export const nifPtLimit = (window: 'minute' | 'hour' | 'day' | 'month'): Json =>
  nifPtError(`Limit per ${window} reached. Please, try again later or buy credits.`);

/** VIES's answer for a registered company. */
export function viesFound(nif: string, overrides: Json = {}): Json {
  return {
    isValid: true,
    requestDate: '2026-11-21T09:00:00.000Z',
    userError: 'VALID',
    name: 'EMPRESA EXEMPLO LDA',
    address: 'CALÇADA DO DUQUE, 20\n1249-109 LISBOA',
    requestIdentifier: '',
    originalVatNumber: nif,
    vatNumber: nif,
    ...overrides,
  };
}

/** VIES about a number that isn't registered there, which says nothing about the company's existence. */
export function viesInvalid(nif: string): Json {
  return viesFound(nif, { isValid: false, userError: 'INVALID', name: '---', address: '---' });
}

/** VIES's own faults come as HTTP 200, in one of two forms; this is the newer one. */
export function viesError(error: string): Json {
  return { actionSucceed: false, errorWrappers: [{ error }] };
}

/** eInforma's report of a company. */
export function einformaReport(nif: string, overrides: Json = {}): Json {
  return {
    identificativo: nif,
    denominacion: 'EMPRESA EXEMPLO, LDA',
    domicilioSocial: 'AVENIDA DA LIBERDADE 100',
    localidad: '1250-144 LISBOA',
    formaJuridica: 'Sociedade por quotas',
    cnae: '6201 Programação informática',
    situacion: 'Ativa',
    capitalSocial: 5000,
    ...overrides,
  };
}

export function einformaNotFound(): WireAnswer {
  return jsonAnswer({ error: 'not_found' }, 404);
}

export function jsonAnswer(body: unknown, status = 200): WireAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
