import { Type } from '@sinclair/typebox';
import { okJson } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { free, type Handler, single } from '../../metering/admission/quote.ts';
import { invalidNif, NIF_PATTERN, validNif } from '../nif-parameter.ts';
import type { FindRefusal, Lookup } from './lookup.ts';
import { CompanyAnswerSchema, writeCompany } from './lookup-schema.ts';
import type { FindCompany } from './lookup-store.ts';

/** GET /companies/{nif} */
export const lookupRoute: ApiRoute = {
  right: 'lookup',
  path: '/companies/:nif',
  params: Type.Object({
    nif: Type.String({
      description: 'Nine digits with a right check digit; spaces, hyphens and periods may separate them.',
      pattern: NIF_PATTERN,
      examples: ['599910020'],
    }),
  }),
  success: CompanyAnswerSchema,
  successHeaders: {
    'X-Record-Source': 'Where the record is from: `nif.pt`, `vies` or `einforma`.',
    'Last-Modified': 'When it was fetched there.',
  },
  invalid: 'The NIF is not nine digits (without `PT`), or its check digit is wrong.',
  problems: ['validation', 'company-not-found', 'company-lookup-failed'],
  charge: 'lookup',
  detail: {
    operationId: 'getCompany',
    summary: 'Get a company',
    pt: { summary: 'Consultar uma empresa', cost: 'um crédito' },
    description:
      'The details of one company: as stored when younger than six days, otherwise refreshed from the data provider or, if that fails, from the fallback source.',
  },
};

/** Answers with the record of one company, which is read while the credit is charged. What is known to be free is not charged. */
export function createLookupHandler(parts: {
  findCompany: FindCompany;
  lookUp: Lookup;
  findRefusal: FindRefusal;
}): Handler<{ nif: string }> {
  return {
    quote(input, { caller, arrivedMs }) {
      const nif = validNif(input.nif);
      if (nif === null) return single('lookup', invalidNif);
      const record = parts.findCompany(nif);
      // Without a credit nobody awaits it.
      record.catch(() => {});
      const quote = single('lookup', async () => {
        const outcome = await parts.lookUp(nif, record, caller, arrivedMs);
        if (!outcome.ok) return outcome;
        const { company } = outcome;
        return okJson(`{"result":"success","data":${writeCompany(company)}}`, {
          'X-Record-Source': company.source,
          'Last-Modified': new Date(company.fetchedAt).toUTCString(),
        });
      });
      const refusing = parts.findRefusal(nif, record, caller);
      if (refusing === null) return quote;
      return refusing.then((refusal) => (refusal === null ? quote : free(() => refusal)));
    },
  };
}
