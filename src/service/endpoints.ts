import { createDatasetsHandler, datasetsRoute } from '../companies/datasets/route.ts';
import { debtChangesRoute } from '../companies/debts/changes/route.ts';
import type { openDebts } from '../companies/debts/open.ts';
import { debtsRoute } from '../companies/debts/screen/route.ts';
import { lookupsRoute } from '../companies/lookup/batch.ts';
import type { openLookup } from '../companies/lookup/open-lookup.ts';
import { lookupRoute } from '../companies/lookup/route.ts';
import type { openMatches } from '../companies/matches/open.ts';
import { matchesRoute } from '../companies/matches/route.ts';
import { matchesOfSeveralRoute } from '../companies/matches/several.ts';
import type { AnswerSearch } from '../companies/search/answer.ts';
import { createSearchHandler, searchRoute } from '../companies/search/route.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { createAccountReader } from '../metering/accounts/reader.ts';
import type { Handler } from '../metering/admission/plan.ts';
import { createUsageHandler, usageRoute } from '../metering/usage/route.ts';
import type { Stores } from '../platform/stores/stores.ts';

/** The parts of a service that handlers are made of. */
export interface Opened {
  stores: Pick<Stores, 'sql'>;
  search: AnswerSearch;
  matches: ReturnType<typeof openMatches>;
  lookups: ReturnType<typeof openLookup>;
  debts: ReturnType<typeof openDebts>;
}

/** Every endpoint in the order of the reference, and its handler. Routes, reference and tools are made from this list. */
const ENDPOINTS: [ApiRoute, (opened: Opened) => Handler][] = [
  [searchRoute, ({ search }) => createSearchHandler(search)],
  [matchesRoute, ({ matches }) => matches.match],
  [matchesOfSeveralRoute, ({ matches }) => matches.matchSeveral],
  [lookupRoute, ({ lookups }) => lookups.lookup],
  [lookupsRoute, ({ lookups }) => lookups.batchLookup],
  [debtsRoute, ({ debts }) => debts.debts],
  [debtChangesRoute, ({ debts }) => debts.debtChanges],
  [usageRoute, ({ stores }) => createUsageHandler(createAccountReader(stores.sql))],
  [datasetsRoute, ({ stores }) => createDatasetsHandler(stores.sql)],
];

export const API_ROUTES: ApiRoute[] = ENDPOINTS.map(([route]) => route);

/** The handler of each route. */
export type Handlers = ReadonlyMap<ApiRoute, Handler>;

export function openEndpoints(opened: Opened): Handlers {
  return new Map(ENDPOINTS.map(([route, open]) => [route, open(opened)]));
}
