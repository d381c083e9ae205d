import { createGate } from '../../platform/runtime/gate.ts';
import { SECOND } from '../../platform/units.ts';
import { createDebtChangesHandler } from '../debts/changes/route.ts';
import { createDebtsHandler, ONE_LIST } from '../debts/screen/route.ts';
import { createLookupListHandler } from '../lookup/list.ts';
import { createLookup } from '../lookup/lookup.ts';
import { createLookupHandler } from '../lookup/route.ts';
import { createMatchListHandler } from '../matches/list.ts';
import { MAX_IN_LIST } from '../matches/matches.ts';
import type { MatchQuery } from '../matches/query.ts';
import { createMatchHandler } from '../matches/route.ts';
import { answerDirectly } from '../search/answer.ts';
import { MAX_RESULTS } from '../search/search.ts';
import * as stores from './stores.ts';
import { COMPANIES } from './world.ts';

/** Lists that wait for a slow answer keep no other list waiting. */
const MANY_LISTS = { ...ONE_LIST, places: 1000, placesOfOne: 1000 };

/**
 * The handlers of test keys (contract: test keys): those of all keys, over a world in memory.
 * @param service.stopping aborted when the service stops
 */
export function openTestWorld(service: { publicUrl: string; stopping: AbortSignal }) {
  const findMatches = (limit: number) =>
    answerDirectly({
      find: (query: MatchQuery) =>
        query.kind === 'words' ? stores.matchWorld(query, limit) : stores.searchWorld.find(query),
    });
  const { findCompanies, refresher } = stores;
  const lookUp = createLookup({ refresher, timeoutMs: 10 * SECOND });
  return {
    search: answerDirectly(stores.searchWorld),
    matches: {
      match: createMatchHandler(findMatches(MAX_RESULTS)),
      matchList: createMatchListHandler(findMatches(MAX_IN_LIST), service),
    },
    lookups: {
      lookup: createLookupHandler(async (nif) => COMPANIES.get(nif) ?? null, lookUp),
      lookupList: createLookupListHandler({ ...service, findCompanies, lookUp }),
    },
    debts: {
      debts: createDebtsHandler(stores.screenWorld, service, createGate(MANY_LISTS)),
      debtChanges: createDebtChangesHandler(stores.readWorldPage, service.stopping),
    },
    readDatasets: stores.readWorldDatasets,
  };
}
