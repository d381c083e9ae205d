import { createDatasetsHandler, datasetsRoute } from '../companies/datasets/route.ts';
import type { ReadDatasets } from '../companies/datasets/store.ts';
import { debtChangesRoute } from '../companies/debts/changes/route.ts';
import type { openDebts } from '../companies/debts/open.ts';
import { debtsRoute } from '../companies/debts/screen/route.ts';
import { lookupListRoute } from '../companies/lookup/list.ts';
import type { openLookup } from '../companies/lookup/open-lookup.ts';
import { lookupRoute } from '../companies/lookup/route.ts';
import { matchListRoute } from '../companies/matches/list.ts';
import type { openMatches } from '../companies/matches/open.ts';
import { matchesRoute } from '../companies/matches/route.ts';
import type { AnswerSearch } from '../companies/search/answer.ts';
import { createSearchHandler, searchRoute } from '../companies/search/route.ts';
import { withProblemsAtWill } from '../companies/test-world/at-will.ts';
import type { openTestWorld } from '../companies/test-world/open.ts';
import type { ApiRoute } from '../http/api-route.ts';
import type { ReadAccount } from '../metering/accounts/reader.ts';
import type { Handler } from '../metering/admission/plan.ts';
import { createUsageHandler, usageRoute } from '../metering/usage/route.ts';
import type { Config } from '../platform/config/config.ts';

/** The parts of a service that handlers are made of. */
export interface Opened {
  readAccount: ReadAccount;
  readDatasets: ReadDatasets;
  search: AnswerSearch;
  matches: ReturnType<typeof openMatches>;
  lookups: ReturnType<typeof openLookup>;
  debts: ReturnType<typeof openDebts>;
}

/** Every endpoint in the order of the reference, and its handler. Routes, reference and tools are made from this list. */
const ENDPOINTS: [ApiRoute, (opened: Opened) => Handler][] = [
  [searchRoute, ({ search }) => createSearchHandler(search)],
  [matchesRoute, ({ matches }) => matches.match],
  [matchListRoute, ({ matches }) => matches.matchList],
  [lookupRoute, ({ lookups }) => lookups.lookup],
  [lookupListRoute, ({ lookups }) => lookups.lookupList],
  [debtsRoute, ({ debts }) => debts.debts],
  [debtChangesRoute, ({ debts }) => debts.debtChanges],
  [usageRoute, ({ readAccount }) => createUsageHandler(readAccount)],
  [datasetsRoute, ({ readDatasets }) => createDatasetsHandler(readDatasets)],
];

export const API_ROUTES: ApiRoute[] = ENDPOINTS.map(([route]) => route);

/** The handler of each route. */
export type Handlers = ReadonlyMap<ApiRoute, Handler>;

/** @param world of test keys. Only the usage of the account is the same for all keys */
export function openEndpoints(
  opened: Opened,
  world: ReturnType<typeof openTestWorld>,
  config: Pick<Config, 'buyUrl'>,
): Handlers {
  return new Map(
    ENDPOINTS.map(([route, open]) => {
      const test = withProblemsAtWill(route, open({ ...opened, ...world }), config);
      return [route, byKey(open(opened), test)];
    }),
  );
}

const byKey = (real: Handler, test: Handler): Handler => ({
  charge: real.charge,
  plan: (context) => (context.caller.isTest ? test : real).plan(context),
});
