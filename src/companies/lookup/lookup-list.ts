import { Type } from '@sinclair/typebox';
import { unavailable } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { type ItemList, itemSchema, listRequestSchema } from '../../http/list-schema.ts';
import {
  createListHandler,
  type Item,
  type ItemAnswer,
  type ListInput,
  type ListService,
} from '../../metering/admission/list-handler.ts';
import type { Handler } from '../../metering/admission/quote.ts';
import { invalidNif, listedNif, NIF_LIST } from '../nif-parameter.ts';
import type { FindRefusal, Lookup } from './lookup.ts';
import { CompanySchema, writeCompany } from './lookup-schema.ts';
import type { FindCompanies } from './lookup-store.ts';

const NIFS: ItemList = { list: 'nifs', item: 'nif', max: 100 };

const LookupItemSchema = itemSchema(
  NIFS,
  { company: CompanySchema },
  {
    $id: 'LookupItem',
    problems: ['company-not-found', 'company-lookup-failed'],
    free: [
      '`service-unavailable` (the request refreshes too many other companies, so ask again; or refreshes are used up)',
    ],
  },
);

/** POST /lookups (docs/api.md: several lookups) */
export const lookupListRoute: ApiRoute = {
  right: 'lookup',
  method: 'POST',
  path: '/lookups',
  body: listRequestSchema(NIFS, {
    $id: 'LookupsRequest',
    ...NIF_LIST,
  }),
  success: Type.Object(
    { data: Type.Array(LookupItemSchema, { description: 'One element a NIF, in the order asked.' }) },
    { $id: 'LookupsAnswer' },
  ),
  problems: ['validation'],
  charge: 'lookup',
  cost: 'one credit for each NIF that gets an answer',
  detail: {
    operationId: 'getCompanies',
    summary: 'Get several companies',
    pt: { summary: 'Consultar várias empresas', cost: 'um crédito por cada NIF com resposta' },
    description:
      'The details of up to 100 companies, for one rate-limit token. Each NIF gets in its place what a single lookup would answer. A NIF that stands there twice is answered and charged twice. If the credits suffice for some NIFs only, the first ones get them and the others are `monthly-quota-exceeded`. At most ten companies without a fresh record are refreshed; the others are `service-unavailable`, and cost nothing. A body that is not valid is a `validation` that costs one credit.',
  },
};

/**
 * The most companies that one request refreshes. The providers are asked for all of them at once, so the last one has as much
 * time as the company of a single lookup.
 */
const MAX_REFRESHES = 10;

const TOO_MANY_REFRESHES = `One request refreshes ${MAX_REFRESHES} companies, and this one would be another. It has cost nothing: ask for it again.`;

export interface LookupListParts extends ListService {
  findCompanies: FindCompanies;
  lookUp: Lookup;
  findRefusal: FindRefusal;
}

/** Looks up several companies (docs/api.md: several lookups). A NIF that stands there twice shares its refresh. */
export function createLookupListHandler({
  findCompanies,
  lookUp,
  findRefusal,
  ...parts
}: LookupListParts): Handler<ListInput> {
  return createListHandler({
    ...parts,
    ...NIFS,
    route: lookupListRoute,
    async quote(asked, { caller }) {
      const arrivedMs = performance.now();
      const nifs = asked.map(listedNif);
      const valid = nifs.filter((nif) => nif !== null);
      const records = valid.length === 0 ? null : await findCompanies(valid);
      const recordOf = (nif: string) => records?.get(nif) ?? null;
      const stale = [...new Set(valid)].filter((nif) => recordOf(nif)?.fresh !== true);
      const findRefusals = stale
        .slice(0, MAX_REFRESHES)
        .map(async (nif) => [nif, await findRefusal(nif, Promise.resolve(recordOf(nif)), caller)] as const);
      const refusals = new Map(await Promise.all(findRefusals));
      const itemOf = (nif: string | null): Item => {
        if (nif === null) return { isCharged: true, answer: invalidNif };
        const record = recordOf(nif);
        if (record?.fresh === true) {
          return { isCharged: true, answer: () => present({ ok: true, company: record }) };
        }
        const refusal = refusals.get(nif);
        if (refusal === null) {
          const refresh = () => lookUp(nif, Promise.resolve(record), caller, arrivedMs).then(present);
          return { isCharged: true, answer: refresh };
        }
        return {
          isCharged: false,
          answer: () => refusal ?? unavailable(TOO_MANY_REFRESHES, undefined, 'later'),
        };
      };
      return { items: nifs.map(itemOf) };
    },
  });
}

function present(outcome: Awaited<ReturnType<Lookup>>): ItemAnswer {
  return outcome.ok ? { ok: true, json: `"company":${writeCompany(outcome.company)}` } : outcome;
}
