import { createDatasetsHandler, datasetsRoute } from '../companies/datasets/datasets-route.ts';
import type { ReadDatasets } from '../companies/datasets/datasets-store.ts';
import { createDebtChangesHandler, debtChangesRoute } from '../companies/debts/changes/changes-route.ts';
import type { ReadPage } from '../companies/debts/changes/changes-store.ts';
import { createDebtsHandler, debtsRoute } from '../companies/debts/debts-route.ts';
import type { Screen } from '../companies/debts/debts-store.ts';
import type { FindRefusal, Lookup } from '../companies/lookup/lookup.ts';
import { createLookupListHandler, lookupListRoute } from '../companies/lookup/lookup-list.ts';
import { createLookupHandler, lookupRoute } from '../companies/lookup/lookup-route.ts';
import type { FindCompanies, FindCompany } from '../companies/lookup/lookup-store.ts';
import type { MatchQuery } from '../companies/matches/matches-query.ts';
import { createMatchHandler, matchesRoute } from '../companies/matches/matches-route.ts';
import type { Resolve } from '../companies/resolve/resolve.ts';
import { createResolutionsHandler, resolutionsRoute } from '../companies/resolve/resolve-route.ts';
import type { AnswerQuery } from '../companies/search/answer.ts';
import type { ParsedQuery } from '../companies/search/search-query.ts';
import { createSearchHandler, searchRoute } from '../companies/search/search-route.ts';
import { TEST_WORLD } from '../companies/test-world/adapters.ts';
import { withProblemsAtWill } from '../companies/test-world/at-will.ts';
import type { ApiRoute } from '../http/api-route.ts';
import type { ReadAccount } from '../metering/accounts/reader.ts';
import { activityRoute, createActivityHandler } from '../metering/activity/activity-route.ts';
import type { ReadActivity } from '../metering/activity/activity-store.ts';
import type { ListService } from '../metering/admission/list-handler.ts';
import type { Handler } from '../metering/admission/quote.ts';
import type { ReadLeft } from '../metering/credits/left.ts';
import { createKeyHandler, keyRoute, type ReadKey } from '../metering/usage/key-route.ts';
import { createUsageHandler, usageRoute } from '../metering/usage/usage-route.ts';
import type { Config } from '../platform/config/config.ts';

/** The adapters that handlers ask. `test-world/adapters.ts` has all but the account and the key in memory. */
export interface Adapters {
  readAccount: ReadAccount;
  readKey: ReadKey;
  readActivity: ReadActivity;
  readDatasets: ReadDatasets;
  search: AnswerQuery<ParsedQuery>;
  match: AnswerQuery<MatchQuery>;
  resolve: Resolve;
  readLeft: ReadLeft;
  findCompany: FindCompany;
  findCompanies: FindCompanies;
  lookUp: Lookup;
  findRefusal: FindRefusal;
  screen: Screen;
  readPage: ReadPage;
}

type Served = ListService;
type Configured = Pick<Config, 'buyUrl' | 'creditsPrice' | 'debtChanges' | 'activityDays'>;

/** Every endpoint in the order of the reference, and its handler. */
const ENDPOINTS: [ApiRoute, (adapters: Adapters, served: Served, config: Configured) => Handler][] = [
  [searchRoute, ({ search }) => createSearchHandler(search)],
  [matchesRoute, ({ match }) => createMatchHandler(match)],
  [
    resolutionsRoute,
    ({ resolve, readLeft }, served) => createResolutionsHandler({ ...served, resolve, readLeft }),
  ],
  [
    lookupRoute,
    ({ findCompany, lookUp, findRefusal }) => createLookupHandler(findCompany, lookUp, findRefusal),
  ],
  [
    lookupListRoute,
    ({ findCompanies, lookUp, findRefusal }, served) =>
      createLookupListHandler({ ...served, findCompanies, lookUp, findRefusal }),
  ],
  [debtsRoute, ({ screen }, served) => createDebtsHandler(screen, served)],
  [debtChangesRoute, ({ readPage }) => createDebtChangesHandler(readPage)],
  [
    usageRoute,
    ({ readAccount, readKey }, _, { creditsPrice }) =>
      createUsageHandler(readAccount, readKey, creditsPrice?.price),
  ],
  [keyRoute, ({ readKey }) => createKeyHandler(readKey)],
  [activityRoute, ({ readActivity }) => createActivityHandler(readActivity)],
  [datasetsRoute, ({ readDatasets }) => createDatasetsHandler(readDatasets)],
];

export const API_ROUTES: ApiRoute[] = ENDPOINTS.map(([route]) => route);

/** The handler of each route. */
export type Handlers = ReadonlyMap<ApiRoute, Handler>;

/** The handlers of the routes that are served: routes, reference and tools are made from them. */
export function openEndpoints(adapters: Adapters, served: Served, config: Configured): Handlers {
  const { buyUrl, debtChanges, activityDays } = config;
  const isOff = new Map([
    [debtChangesRoute, debtChanges === 'off'],
    [activityRoute, activityDays === 0],
  ]);
  const endpoints = ENDPOINTS.filter(([route]) => isOff.get(route) !== true);
  return new Map(
    endpoints.map(([route, open]) => {
      const real = open(adapters, served, config);
      const test = withProblemsAtWill(
        route,
        open({ ...adapters, ...TEST_WORLD }, { publicUrl: served.publicUrl }, config),
        buyUrl,
      );
      const quote: Handler['quote'] = (input, context) =>
        (context.caller.isTest ? test : real).quote(input, context);
      return [route, { quote }];
    }),
  );
}
