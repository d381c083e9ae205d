import type { ApiRoute } from '../http/api-route.ts';
import { LookupsAnswerSchema, LookupsRequestSchema } from './batch-schema.ts';

/** POST /lookups (contract, Beyond the specification) */
export const lookupsRoute: ApiRoute = {
  method: 'POST',
  path: '/lookups',
  body: LookupsRequestSchema,
  success: LookupsAnswerSchema,
  problems: ['validation'],
  charge: 'lookup',
  cost: 'one credit for each NIF that gets an answer',
  detail: {
    operationId: 'getCompanies',
    summary: 'Get several companies',
    description:
      'The details of up to 100 companies, for one rate-limit token. Each NIF gets in its place what a single lookup would answer. A NIF that stands there twice is answered and charged twice. If the credits suffice for some NIFs only, the first ones get them and the others are `monthly-quota-exceeded`. At most ten companies without a fresh record are refreshed; the others are `service-unavailable`, and cost nothing. A body that is not valid is a `validation` that costs one credit.',
  },
};
