/** Requests that call up problems, made from the lists of routes and of problems. */
import { WORLD } from '../../../src/companies/test-world/world.ts';
import { type ApiRoute, methodOf, problemsOf } from '../../../src/http/api-route.ts';
import type { ProblemName } from '../../../src/http/problems.ts';
import { TOOLS } from '../../../src/mcp/tools.ts';
import { API_ROUTES } from '../../../src/service/endpoints.ts';
import type { CallOptions } from '../../support/client.ts';

export const NAMES = WORLD.companies.map(({ nif, details }): [nif: string, legalName: string] => [
  nif,
  details.title,
]);

export const post = (body: unknown): CallOptions => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

/** The NIF that calls up a problem. */
export function nifOf(kind: string): string {
  const called = WORLD.problems.find((one) => one.kind === kind);
  if (called === undefined) throw new Error(`src/companies/test-world/world.json has no NIF for ${kind}`);
  return called.nif;
}

export const hasTool = (route: ApiRoute) => TOOLS.values().some((tool) => tool.route === route);

/** A request of the route about a NIF, or a query. An endpoint without input takes that as `q`. */
function requestAbout(route: ApiRoute, nif: string, q: string): [path: string, options: CallOptions] {
  const { body, params, path } = route;
  if (body?.properties.names) return [path, post({ names: [q] })];
  if (body?.properties.after) return [path, post({ after: null, nifs: [nif] })];
  if (body !== undefined) return [path, post({ nifs: [nif] })];
  return [params === undefined ? `${path}?q=${q}` : path.replace(':nif', nif), {}];
}

/** A request that the route refuses with this problem, or answers if there is none. */
export function requestFor(route: ApiRoute, kind: ProblemName | null): [path: string, options: CallOptions] {
  if (kind === 'changes-expired') return [route.path, post({ after: 'chg_1' })];
  if (kind === 'activity-expired') return [`${route.path}?after=act_1`, {}];
  if (kind === 'validation' && route.query?.properties.after) return [`${route.path}?after=1`, {}];
  if (kind === 'validation' && route.body !== undefined) return [route.path, post({})];
  if (kind === 'validation') return requestAbout(route, '123456780', '');
  // Any request is unauthorized with a key that does not exist.
  return kind === null || kind === 'unauthorized'
    ? requestAbout(route, NAMES[0]![0], 'padaria')
    : requestAbout(route, nifOf(kind), kind);
}

/** The name of each route, and each problem that it documents. */
export const CASES = API_ROUTES.flatMap((route) =>
  [...new Set(problemsOf(route))].map((kind): [string, ProblemName, ApiRoute] => [
    `${methodOf(route)} ${route.path}`,
    kind,
    route,
  ]),
);
