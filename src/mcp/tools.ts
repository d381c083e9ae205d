import { type TSchema, Type } from '@sinclair/typebox';
import { datasetsRoute } from '../companies/datasets/route.ts';
import { debtChangesRoute } from '../companies/debts/changes/route.ts';
import { debtsRoute } from '../companies/debts/screen/route.ts';
import { lookupsRoute } from '../companies/lookup/batch.ts';
import { lookupRoute } from '../companies/lookup/route.ts';
import { matchesRoute } from '../companies/matches/route.ts';
import { searchRoute } from '../companies/search/route.ts';
import { type ApiRoute, costOf } from '../http/api-route.ts';
import { inputOf } from '../http/request-of.ts';
import { usageRoute } from '../metering/usage/route.ts';

/** A route of the API as a model sees it. */
export interface Tool {
  name: string;
  route: ApiRoute;
  /** The most items of a list, if they are fewer than those of the route, because a model has to read the answer. */
  most: Record<string, number>;
}

/** The tools, in the order in which clients see them. A description has under 60 words with the price, which is added. */
const TABLE: Record<string, [route: ApiRoute, description: string, most?: Tool['most']]> = {
  search_companies: [
    searchRoute,
    'Finds Portuguese companies whose name begins with `q`, or the one whose NIF is in it. Case, accents, punctuation and endings such as Lda or SA do not matter. At most 20, exact names first. An empty list does not mean that there is no such company: try fewer words.',
  ],
  match_companies: [
    matchesRoute,
    'Finds Portuguese companies whose name has every word of `q`, in any order; the last word may be the beginning of one. Of a long `q` the first eight words count. Use it when the first word of the name is not known, or search_companies finds nothing. At most 20, names that begin with `q` first.',
  ],
  get_company: [
    lookupRoute,
    'One company by its NIF: address, activity, CAE, capital, status, and its debts as check_debts has them. A debt of `null` means not listed, which is not "no debt", and nothing at all if list_datasets lacks that list.',
  ],
  get_companies: [
    lookupsRoute,
    'What get_company says of up to 25 companies in one call. Each NIF gets its own `status`, with a company or a problem, in the order asked.',
    { nifs: 25 },
  ],
  check_debts: [
    debtsRoute,
    'Which of up to 100 companies owe: their brackets, in euros, in the public lists of tax and social security debtors. Needs no lookup. `null` means not on the list of the date in `datasets`, which is not "no debt". A date that is `null` means no list.',
    { nifs: 100 },
  ],
  list_debt_changes: [
    debtChangesRoute,
    'What has changed in the lists of debtors: which companies appeared, changed bracket or ended, oldest first, at most 100. Pass the `next` of an earlier answer as `after` to get what came since; `null` begins 90 days ago. Name `nifs`, or pay for all companies.',
  ],
  get_usage: [
    usageRoute,
    "The account's plan, its included credits (`quotas.requests`: used, limit), purchased credits left (`credits`), when the included ones reset, and its requests a minute. Ask before work that takes many calls.",
  ],
  list_datasets: [
    datasetsRoute,
    'How many companies the directory has, and the date and size of each list of debtors. A list that is `null` was never imported, so that a debt of `null` says nothing.',
  ],
};

export const TOOLS = new Map<unknown, Tool>(
  Object.entries(TABLE).map(([name, [route, , most = {}]]) => [name, { name, route, most }]),
);

/** The tools as `tools/list` shows them. The input of a tool is that of its route. */
export const DEFINITIONS = Object.entries(TABLE).map(([name, [route, description, most]]) => {
  const properties = inputOf(route);
  for (const list in most) {
    const { description = '', maxItems, ...schema } = properties[list]!;
    const fewer = description.replace(`${maxItems}`, `${most[list]}`);
    properties[list] = { ...schema, maxItems: most[list], description: fewer } as TSchema;
  }
  return {
    name,
    title: route.detail.summary,
    description: `${description} Costs ${costOf(route)}.`,
    inputSchema: JSON.parse(JSON.stringify(Type.Object(properties))) as { type: 'object' },
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
});

/** Why the tool refuses an input that its route may take; `null` if it does not. */
export function tooManyItems({ most }: Tool, input: Record<string, unknown>): string | null {
  const list = Object.keys(most).find((list) => {
    const items = input[list];
    return Array.isArray(items) && items.length > most[list]!;
  });
  return list === undefined ? null : `The tool takes at most ${most[list]} ${list}.`;
}
