import { type TObject, type TSchema, Type, TypeGuard } from '@sinclair/typebox';
import { datasetsRoute } from '../companies/datasets/datasets-route.ts';
import { debtChangesRoute } from '../companies/debts/changes/changes-route.ts';
import { debtsRoute } from '../companies/debts/debts-route.ts';
import { lookupListRoute } from '../companies/lookup/lookup-list.ts';
import { lookupRoute } from '../companies/lookup/lookup-route.ts';
import { withoutCountry } from '../companies/nif.ts';
import { TextNifSchema } from '../companies/nif-parameter.ts';
import { resolutionsRoute } from '../companies/resolve/resolve-route.ts';
import { searchRoute } from '../companies/search/search-route.ts';
import { type ApiRoute, costOf, PROBLEM_MEMBERS } from '../http/api-route.ts';
import { createBodyCheck } from '../http/body-check.ts';
import { type Input, inputOf } from '../http/input.ts';
import { permits, type Right } from '../http/right.ts';
import { keyRoute } from '../metering/usage/key-route.ts';
import { usageRoute } from '../metering/usage/usage-route.ts';

/** A route of the API as a model sees it. */
export interface Tool {
  name: string;
  route: ApiRoute;
  /** The right that a key needs for the tool. */
  right: Right | null;
  /** The route that answers a key without this right; absent means that the tool refuses it. */
  otherwise?: ApiRoute | undefined;
  /** What a model has to know to read a result. */
  note?: string | undefined;
  /**
   * Reads the arguments of a call, from a sender that is not trusted. `fault` names the member that is wrong, and what it takes;
   * `null` means that the input is one of the route.
   */
  read(args: Record<string, unknown>): { fault: string | null; input: Input };
}

interface Row {
  /** Whether a call may ask a source of company details, which is not this service. */
  asksSources?: true;
  /** The most items of a list, if they are fewer than those of the route, because a model has to read the answer. */
  most?: Record<string, number>;
  /** Reads a text that the route's path would not take. */
  reads?: Record<string, { schema: TSchema; textOf(text: string): string }>;
  /** The route that answers a key that lacks the right of the tool. */
  otherwise?: ApiRoute;
  note?: string;
}

const ABOUT_NULL =
  'A debt of null means: not on that list at its date. It does not mean "no debt", and says nothing if list_datasets lacks the list.';

/** The tools, in the order in which clients see them. A description has under 60 words with the price, which is added. */
const TABLE: Record<string, [route: ApiRoute, description: string, row?: Row]> = {
  search_companies: [
    searchRoute,
    'Finds Portuguese companies whose name begins with `q`, or the one whose NIF is in it. Case, accents, punctuation and endings such as Lda or SA do not matter. At most 20, exact names first. An empty list does not mean that there is no such company: try fewer words.',
  ],
  resolve_companies: [
    resolutionsRoute,
    'Which companies up to 25 names stand for, as people write them: typing errors, abbreviations. Each has up to 5 candidates, with evidence by word. `clear`: the first alone has this name, or else every weighed word; compare them if `extra` is not 0.',
    { most: { names: 25 } },
  ],
  get_company: [
    lookupRoute,
    'One company by its NIF: address, activity, CAE, capital, status, and its debts as check_debts has them. A debt of `null` means not listed, which is not "no debt", and nothing at all if list_datasets lacks that list.',
    {
      asksSources: true,
      note: ABOUT_NULL,
      reads: { nif: { schema: TextNifSchema, textOf: withoutCountry } },
    },
  ],
  get_companies: [
    lookupListRoute,
    'What get_company says of up to 25 companies in one call. Each NIF gets its own `status`, with a company or a problem, in the order asked.',
    { asksSources: true, note: ABOUT_NULL, most: { nifs: 25 } },
  ],
  check_debts: [
    debtsRoute,
    'Which of up to 100 companies owe: their brackets, in euros, in the public lists of tax and social security debtors. Needs no lookup. `null` means not on the list of the date in `datasets`, which is not "no debt". A date that is `null` means no list.',
    { note: ABOUT_NULL, most: { nifs: 100 } },
  ],
  list_debt_changes: [
    debtChangesRoute,
    "Which companies appeared on the lists of debtors, changed bracket or ended (left the list, not: paid), oldest first, at most 100. Persons' NIFs (1, 2, 3, 45…) have none. `after` is the `next` of an earlier answer; `null` begins 90 days ago. Without `nifs` you pay for all.",
  ],
  get_usage: [
    usageRoute,
    "The account's plan, what it can still spend (`left`; a key with a credit limit only `key_left`), its included credits (`quotas.requests`: used, limit), purchased ones (`credits`), when the included ones reset, and its requests a minute. Ask before work that takes many calls.",
    { otherwise: keyRoute },
  ],
  list_datasets: [
    datasetsRoute,
    'How many companies the directory has, and the date and size of each list of debtors. A list that is `null` was never imported, so that a debt of `null` says nothing.',
  ],
};

/** The input of a tool: that of its route, with the tool's own bounds. As a body it takes no further members, as a query any. */
function inputSchemaOf(route: ApiRoute, { most = {}, reads = {} }: Row): TObject {
  const properties = inputOf(route);
  for (const name in reads) properties[name] = reads[name]!.schema;
  for (const list in most) {
    const { description = '', maxItems, ...schema } = properties[list]!;
    const fewer = description.replace(`${maxItems}`, `${most[list]}`);
    properties[list] = { ...schema, maxItems: most[list], description: fewer } as TSchema;
  }
  return Type.Object(properties, route.body === undefined ? {} : { additionalProperties: false });
}

export const TOOLS = new Map<unknown, Tool>(
  Object.entries(TABLE).map(([name, [route, , row = {}]]) => {
    const schema = inputSchemaOf(route, row);
    const tool = { name, route, right: route.right, otherwise: row.otherwise, note: row.note };
    if (route.body === undefined) return [name, { ...tool, read: createTextReader(schema, row) }];
    const faultOf = createBodyCheck({ ...schema, examples: route.body.examples });
    return [name, { ...tool, read: (args) => ({ fault: faultOf(args), input: args }) }];
  }),
);

/** Reads the parameters of an address. Each takes any text or number, because the handler reads what is in it. */
function createTextReader({ properties }: TObject, { reads = {} }: Row): Tool['read'] {
  const members = Object.entries(properties);
  const texts = members.map(([name, schema]) => {
    const text = Type.Union([Type.String(), Type.Number()], { description: schema.description! });
    return [name, TypeGuard.IsOptional(schema) ? Type.Optional(text) : text];
  });
  const example = members.map(([name, { examples }]) => [name, examples[0]]);
  const faultOf = createBodyCheck(
    Type.Object(Object.fromEntries(texts), { examples: [Object.fromEntries(example)] }),
  );
  const textOf = (name: string, value: unknown) => {
    const text = String(value).toWellFormed();
    return reads[name]?.textOf(text) ?? text;
  };
  return (args) => {
    const fault = faultOf(args);
    if (fault !== null) return { fault, input: {} };
    const given = members.filter(([name]) => args[name] !== undefined);
    return { fault, input: Object.fromEntries(given.map(([name]) => [name, textOf(name, args[name])])) };
  };
}

/** As JSON. Names of schemas are left out, because a client compiles the schemas of all tools together. */
function published(schema: TSchema) {
  const text = JSON.stringify(schema, (key, value) => (key === '$id' ? undefined : value));
  return JSON.parse(text) as { type: 'object'; [keyword: string]: unknown };
}

/** Words and bounds of a schema, which a result shows by itself. Hosts give a model the schemas of all tools. */
const WORDS = new Set('description examples format pattern minimum maximum maxItems'.split(' '));

/** The form of a schema: the members that are always there, and their types; of a problem, which all have, the members alone. */
function formOf(schema: TSchema): ReturnType<typeof published> {
  return JSON.parse(JSON.stringify(published(schema)), (key, value) => {
    if (WORDS.has(key) && (typeof value !== 'object' || Array.isArray(value))) return undefined;
    if (value?.const !== undefined || Array.isArray(value?.enum)) return { ...value, type: undefined };
    const types = value?.anyOf?.map?.(({ type, ...others }: TSchema) => isEmpty(others) && type);
    if (types?.every((type: unknown) => typeof type === 'string')) return { type: types };
    if (value?.anyOf?.length === 2 && value.anyOf[1].type === 'null')
      return { ...value.anyOf[0], type: [value.anyOf[0].type, 'null'] };
    if (value?.type !== 'object') return value;
    const { required = [] } = value;
    const members = required.map((name: string) => [name, value.properties[name]]);
    const isProblem = required.includes('detail');
    return { ...value, properties: isProblem ? undefined : Object.fromEntries(members) };
  });
}

const isEmpty = (value: object) => Object.keys(value).length === 0;

/** A problem is structured content, too, and there are clients that check it by this schema. */
function outputSchemaOf({ success }: ApiRoute, { otherwise }: Row) {
  const further = otherwise === undefined ? [] : [otherwise.success];
  const schemas = [success, ...further, Type.Object(PROBLEM_MEMBERS)];
  return { type: 'object' as const, anyOf: schemas.map(formOf) };
}

/** The tools of a service, as calls name them and as `tools/list` shows them. */
export interface ServedTools {
  byName: ReadonlyMap<unknown, Tool>;
  definitions: typeof DEFINITIONS;
  /** Whether all keys see the same tools. */
  cacheScope: 'public' | 'private';
}

/** The tools of these routes. */
export function toolsOf(routes: Pick<ReadonlyMap<ApiRoute, unknown>, 'has'>): ServedTools {
  const byName = new Map([...TOOLS].filter(([, { route }]) => routes.has(route)));
  const definitions = DEFINITIONS.filter(({ name }) => byName.has(name));
  return { byName, definitions, cacheScope: 'public' };
}

/** The tools as a key sees them: those that it may call. @param only its rights; `null` means all */
export function seenBy(tools: ServedTools, only: Right[] | null): ServedTools {
  if (only === null) return tools;
  const isOpen = ({ right, otherwise }: Tool) => permits(only, right) || otherwise !== undefined;
  const definitions = tools.definitions.filter(({ name }) => isOpen(tools.byName.get(name)!));
  return { ...tools, definitions, cacheScope: 'private' };
}

/**
 * The tools as `tools/list` shows them. A tool that costs credits says so in its title, because hosts show that when they ask their
 * user, and `readOnlyHint` lets them not ask: it means that nothing is changed, not that nothing is spent.
 */
export const DEFINITIONS = Object.entries(TABLE).map(([name, [route, description, row = {}]]) => {
  const title = `${route.detail.summary} (${costOf(route)})`;
  return {
    name,
    title,
    description: `${description} Costs ${costOf(route)}.`,
    inputSchema: published(inputSchemaOf(route, row)),
    outputSchema: outputSchemaOf(route, row),
    annotations: {
      title,
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: row.asksSources ?? false,
    },
    _meta: { cost: costOf(route) },
  };
});
