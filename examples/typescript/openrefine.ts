/**
 * `bun openrefine.ts [PORT]` lets OpenRefine match names with companies, and add their debts. In OpenRefine choose "Reconcile", "Add
 * standard service", and give the address that it prints.
 *
 * It speaks the Reconciliation API 0.2 (reconciliation-api.github.io/specs/0.2) at 127.0.0.1 alone, and holds the key. `match` is
 * `clear`. `score` is 6 less the place of the candidate: the service gives evidence and no score. A name that finds a company costs a
 * credit, and so does each company whose debts are added.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { components } from './api.d.ts';
import { client, explain, run } from './client.ts';

type Resolved = components['schemas']['ResolvedName'];
type Bracket = components['schemas']['DebtBracket'] | null | undefined;
interface Query {
  query?: unknown;
  limit?: unknown;
}
interface Extension {
  ids: string[];
  properties: { id: string }[];
}

const NAMES_AT_ONCE = 100;
const NIFS_AT_ONCE = 1000;
const MAX_BODY_BYTES = 4_000_000;
const TYPE = { id: 'company', name: 'Company' };
const LISTS = ['tax', 'social_security'];

/** The columns that OpenRefine can add. A company that is not on a list has an empty cell, which does not mean that it has no debt. */
const PROPERTIES = LISTS.flatMap((list) => {
  const value = (name: keyof NonNullable<Bracket>, label: string) => ({
    id: `${list}_${name}`,
    name: `${list.replace('_', ' ')} debt: ${label}`,
    of: (debts: Record<string, Bracket>) => debts[`${list}_debt`]?.[name] ?? null,
  });
  return [value('start', 'from, €'), value('end', 'to, €'), value('last_updated', 'date of the list')];
});

/** A request that is answered with this text, so that OpenRefine keeps nothing of it as "no match". */
class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const partsOf = <Item>(items: Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, part) =>
    items.slice(part * size, (part + 1) * size),
  );

/** @throws Refused if the credits did not suffice, or the service was too busy, for an item */
function refuseUnanswered(items: { status: number; problem?: components['schemas']['Problem'] }[]): void {
  const refused = items.find(({ status }) => status === 429 || status === 503);
  if (refused) throw new Refused(503, explain(refused.problem));
}

async function reconcile(queries: Record<string, Query>) {
  // A text without a letter or digit names nothing, and is not asked for.
  const asked = Object.entries(queries).flatMap(([id, { query, limit }]) => {
    const name = String(query ?? '').trim();
    return /[\p{L}\p{N}]/u.test(name) ? [{ id, name, limit: Number(limit ?? 5) }] : [];
  });
  const results = Object.fromEntries(Object.keys(queries).map((id) => [id, { result: [] as object[] }]));
  for (const part of partsOf(asked, NAMES_AT_ONCE)) {
    const answer = await client.POST('/resolutions', { body: { names: part.map(({ name }) => name) } });
    if (!answer.data) throw new Refused(503, explain(answer.error));
    const items = answer.data.data;
    refuseUnanswered(items);
    for (const [at, item] of items.entries()) {
      const { id, limit } = part[at]!;
      results[id] = { result: candidatesOf(item).slice(0, Math.max(limit, 0)) };
    }
  }
  return results;
}

function candidatesOf(item: Resolved): object[] {
  if (!('candidates' in item)) return [];
  return item.candidates.map(({ nif, legal_name }, at) => ({
    ...{ id: nif, name: legal_name, score: 5 - at, match: item.clear && at === 0, type: [TYPE] },
  }));
}

async function extend({ ids, properties }: Extension) {
  const wanted = properties.flatMap(({ id }) => PROPERTIES.find((property) => property.id === id) ?? []);
  const rows: Record<string, Record<string, object[]>> = {};
  for (const nifs of partsOf(ids, NIFS_AT_ONCE)) {
    const answer = await client.POST('/debts', { body: { nifs } });
    if (!answer.data) throw new Refused(503, explain(answer.error));
    refuseUnanswered(answer.data.data);
    for (const item of answer.data.data) {
      const debts = 'debts' in item ? item.debts : {};
      const cell = (value: string | number | null) =>
        value === null ? [] : [typeof value === 'number' ? { int: value } : { str: value }];
      rows[item.nif] = Object.fromEntries(wanted.map(({ id, of }) => [id, cell(of(debts))]));
    }
  }
  return { meta: wanted.map(({ id, name }) => ({ id, name })), rows };
}

const proposal = () => ({ properties: PROPERTIES.map(({ id, name }) => ({ id, name })) });

const manifest = (address: string) => ({
  versions: ['0.2'],
  name: 'Company directory (Portugal)',
  identifierSpace: `${process.env.DIRECTORY_URL}/companies/`,
  schemaSpace: `${process.env.DIRECTORY_URL}/openapi`,
  defaultTypes: [TYPE],
  extend: { propose_properties: { service_url: address, service_path: '/properties' } },
});

function parsed<Form>(text: string): Form {
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {}
  throw new Refused(400, 'not an object of JSON');
}

function extensionOf(text: string): Extension {
  const { ids, properties } = parsed<Partial<Extension>>(text);
  if (Array.isArray(ids) && Array.isArray(properties)) return { ids: ids.map(String), properties };
  throw new Refused(400, 'extend has ids and properties');
}

/** The parameters in the address and in a form. */
async function parametersOf(request: IncomingMessage, url: URL): Promise<URLSearchParams> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > MAX_BODY_BYTES) throw new Refused(413, 'the form is too large');
  }
  return new URLSearchParams([...url.searchParams, ...new URLSearchParams(body)]);
}

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|localhost)(:\d+)?$/;

async function answer(request: IncomingMessage, address: string): Promise<object> {
  // Pages of other sites can send requests to this machine, and would spend the key's credits.
  const { host = '', origin } = request.headers;
  if (!LOOPBACK.test(`http://${host}`) || (origin !== undefined && !LOOPBACK.test(origin)))
    throw new Refused(403, 'for programs of this machine alone');
  const url = new URL(request.url!, address);
  if (url.pathname === '/properties') return proposal();
  const parameters = await parametersOf(request, url);
  const [queries, extension] = [parameters.get('queries'), parameters.get('extend')];
  if (extension !== null) return extend(extensionOf(extension));
  return queries === null ? manifest(address) : reconcile(parsed<Record<string, Query>>(queries));
}

async function respond(request: IncomingMessage, response: ServerResponse, address: string): Promise<void> {
  try {
    const body = JSON.stringify(await answer(request, address));
    const { origin } = request.headers;
    response.writeHead(200, {
      'Content-Type': 'application/json',
      ...(origin !== undefined && { 'Access-Control-Allow-Origin': origin }),
    });
    response.end(body);
  } catch (error) {
    const { message } = error as Error;
    console.error(message);
    response.writeHead(error instanceof Refused ? error.status : 502, { 'Content-Type': 'text/plain' });
    response.end(message);
  }
}

run(async (port = '8765') => {
  const server = createServer((request, response) => respond(request, response, address()));
  const address = () => `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  server.listen(Number(port), '127.0.0.1', () => console.log(`${address()}/`));
});
