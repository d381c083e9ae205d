import { createAccountReader } from '../accounts/reader.ts';
import type { Handler } from '../admission/plan.ts';
import { createDatasetsHandler, datasetsRoute } from '../datasets/route.ts';
import { debtChangesRoute } from '../debts/changes/route.ts';
import type { openDebts } from '../debts/open.ts';
import { debtsRoute } from '../debts/screen/route.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { lookupsRoute } from '../lookup/batch.ts';
import type { openLookup } from '../lookup/open-lookup.ts';
import { lookupRoute } from '../lookup/route.ts';
import type { openMatches } from '../matches/open.ts';
import { matchesRoute } from '../matches/route.ts';
import { matchesOfSeveralRoute } from '../matches/several.ts';
import type { AnswerSearch } from '../search/answer.ts';
import { createSearchHandler, searchRoute } from '../search/route.ts';
import type { Stores } from '../stores/stores.ts';
import { createUsageHandler, usageRoute } from '../usage/route.ts';

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
