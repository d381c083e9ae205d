import { createDatasetsHandler, datasetsRoute } from '../companies/datasets/datasets-route.ts';
import { createDebtChangesHandler, debtChangesRoute } from '../companies/debts/changes/changes-route.ts';
import { createDebtsHandler, debtsRoute } from '../companies/debts/debts-route.ts';
import { createLookupListHandler, lookupListRoute } from '../companies/lookup/lookup-list.ts';
import { createLookupHandler, lookupRoute } from '../companies/lookup/lookup-route.ts';
import { createMatchHandler, matchesRoute } from '../companies/matches/matches-route.ts';
import { createResolutionsHandler, resolutionsRoute } from '../companies/resolve/resolve-route.ts';
import { createSearchHandler, searchRoute } from '../companies/search/search-route.ts';
import { TEST_WORLD } from '../companies/test-world/adapters.ts';
import { withProblemsAtWill } from '../companies/test-world/at-will.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { activityRoute, createActivityHandler } from '../metering/activity/activity-route.ts';
import type { Handler } from '../metering/admission/quote.ts';
import { createKeyHandler, keyRoute } from '../metering/usage/key-route.ts';
import { createUsageHandler, usageRoute } from '../metering/usage/usage-route.ts';
import type { Config } from '../platform/config/config.ts';

/** All that the handlers need. `test-world/adapters.ts` has the same in memory for test keys, without the account and the key. */
export type EndpointParts = Parameters<typeof createSearchHandler>[0] &
  Parameters<typeof createMatchHandler>[0] &
  Parameters<typeof createResolutionsHandler>[0] &
  Parameters<typeof createLookupHandler>[0] &
  Parameters<typeof createLookupListHandler>[0] &
  Parameters<typeof createDebtsHandler>[0] &
  Parameters<typeof createDebtChangesHandler>[0] &
  Parameters<typeof createUsageHandler>[0] &
  Parameters<typeof createActivityHandler>[0] &
  Parameters<typeof createDatasetsHandler>[0];

/** Every endpoint in the order of the reference, and its handler. */
const ENDPOINTS: [ApiRoute, (parts: EndpointParts) => Handler][] = [
  [searchRoute, createSearchHandler],
  [matchesRoute, createMatchHandler],
  [resolutionsRoute, createResolutionsHandler],
  [lookupRoute, createLookupHandler],
  [lookupListRoute, createLookupListHandler],
  [debtsRoute, createDebtsHandler],
  [debtChangesRoute, createDebtChangesHandler],
  [usageRoute, createUsageHandler],
  [keyRoute, createKeyHandler],
  [activityRoute, createActivityHandler],
  [datasetsRoute, createDatasetsHandler],
];

export const API_ROUTES: ApiRoute[] = ENDPOINTS.map(([route]) => route);

/** The handler of each route. */
export type Handlers = ReadonlyMap<ApiRoute, Handler>;

/** The handlers of the routes that are served: routes, reference and tools are made from them. */
export function openEndpoints(parts: EndpointParts, config: Config): Handlers {
  const { countItem: _, ...ofTestKeys } = { ...parts, ...TEST_WORLD };
  const isOff = new Map([
    [debtChangesRoute, config.debtChanges === 'off'],
    [activityRoute, config.activityDays === 0],
  ]);
  const endpoints = ENDPOINTS.filter(([route]) => isOff.get(route) !== true);
  return new Map(
    endpoints.map(([route, open]) => {
      const real = open(parts);
      const test = withProblemsAtWill(route, open(ofTestKeys), config.buyUrl);
      const quote: Handler['quote'] = (input, context) =>
        (context.caller.isTest ? test : real).quote(input, context);
      return [route, { quote }];
    }),
  );
}
