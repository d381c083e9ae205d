import { Elysia } from 'elysia';
import type { Handler, Pipeline } from '../admission/pipeline.ts';
import { type Dashboard, dashboardRoutes } from '../dashboard/dashboard.ts';
import { datasetsRoute } from '../datasets/route.ts';
import { debtChangesRoute } from '../debts/changes/route.ts';
import { debtsRoute } from '../debts/screen/route.ts';
import { methodNotAllowed, problem } from '../http/answer.ts';
import { type ApiRoute, BASE_PATH, MCP_PATH, methodOf, statusesOf, templateOf } from '../http/api-route.ts';
import type { Observer } from '../http/observe.ts';
import { lookupsRoute } from '../lookup/batch.ts';
import { lookupRoute } from '../lookup/route.ts';
import { matchesRoute } from '../matches/route.ts';
import { matchesOfSeveralRoute } from '../matches/several.ts';
import { createMcp } from '../mcp/route.ts';
import type { Metrics } from '../observability/metrics.ts';
import { searchRoute } from '../search/route.ts';
import { usageRoute } from '../usage/route.ts';
import type { Health } from './health.ts';
import { publicRoutes } from './public-routes.ts';

/** The routes of the API in the order of the reference, by the names of their handlers. */
const ROUTES = {
  search: searchRoute,
  match: matchesRoute,
  matchSeveral: matchesOfSeveralRoute,
  lookup: lookupRoute,
  batchLookup: lookupsRoute,
  debts: debtsRoute,
  debtChanges: debtChangesRoute,
  usage: usageRoute,
  datasets: datasetsRoute,
} satisfies Record<string, ApiRoute>;
export const API_ROUTES: ApiRoute[] = Object.values(ROUTES);

export interface AppParts extends Record<keyof typeof ROUTES, Handler> {
  publicUrl: string;
  pipeline: Pipeline;
  observer: Observer;
  metrics: Metrics;
  metricsToken: string | null;
  health: Health;
  /** The OpenAPI document of {@link API_ROUTES}. */
  openApi: Record<string, unknown>;
  dashboard: Dashboard;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/**
 * All routes together, without a socket (listen.ts opens that).
 *
 * Handlers destructure what they use, `({ request }) => …`, because Elysia reads their source. If one passes its whole context
 * on, Elysia parses cookies, copies headers and rebuilds every response (test/service/app.test.ts).
 */
export function createApp(parts: AppParts) {
  const { publicUrl, observer, metrics } = parts;
  for (const route of API_ROUTES) {
    metrics.requests.expect(BASE_PATH + templateOf(route.path), [200, ...statusesOf(route)]);
  }
  const endpoints = endpointsOf(parts);
  return (
    new Elysia({
      aot: true,
      strictPath: true,
      // Bun's router would match paths as they were sent, and call the handlers of `all` without a context.
      systemRouter: false,
      // Elysia would search the path from the eleventh character on, and in `http://api/` it begins before.
      handler: { standardHostname: false },
    })
      // Before the routes, because a hook does not apply to earlier ones.
      .onError({ as: 'global' }, ({ request, code, error }) =>
        observer.observe(request, 'unknown', () => {
          if (code === 'NOT_FOUND') return problem('not-found');
          throw error;
        }),
      )
      .use(apiRoutes(parts, endpoints))
      .use(mcpRoute(parts, endpoints))
      .use(publicRoutes({ ...parts, pages: parts.dashboard.publicPages }))
      .use(dashboardRoutes(parts.dashboard))
      // A browser at the bare address is led to the dashboard; other clients get the problem.
      .get('/', ({ request }) =>
        observer.observe(request, 'unknown', () =>
          request.headers.get('accept')?.includes('text/html')
            ? new Response(null, {
                status: 303,
                headers: { Location: `${publicUrl}/dashboard`, Vary: 'Accept' },
              })
            : problem('not-found'),
        ),
      )
      .all('/*', ({ request }) =>
        observer.observe(
          request,
          'unknown',
          () => parts.dashboard.publicPages.notFound(request) ?? problem('not-found'),
        ),
      )
  );
}

interface Endpoint {
  route: ApiRoute;
  handler: Handler;
}

function endpointsOf(parts: AppParts): Endpoint[] {
  const names = Object.keys(ROUTES) as (keyof typeof ROUTES)[];
  return names.map((name) => ({ route: ROUTES[name], handler: parts[name] }));
}

/**
 * The metered endpoints: each request goes through the pipeline, and the handler validates its input.
 *
 * Elysia could validate in the right order, because `derive` runs before it. A trial had admission in a `derive`, and schemas
 * for `q` and the NIF. A lookup cost the service as much (×1.00, quartiles 0.98 to 1.05). A refusal cost 5.5% more (1.02 to 1.11),
 * because Elysia makes a new Response of the Response that ends a `derive`. It was not kept, because the pipeline would be in two
 * places, and calls from the dashboard would need another validation. Elysia also takes the last `q` of several, this API the first.
 */
function apiRoutes({ pipeline, observer }: Pick<AppParts, 'pipeline' | 'observer'>, endpoints: Endpoint[]) {
  const app = new Elysia({ name: 'api', prefix: BASE_PATH });
  for (const [path, ofPath] of Map.groupBy(endpoints, ({ route }) => route.path)) {
    const template = BASE_PATH + templateOf(path);
    const handlers = new Map<string, Handler>(ofPath.map(({ route, handler }) => [methodOf(route), handler]));
    const methods = [...handlers.keys()].join(', ');
    // One route for every method, because Elysia would answer HEAD by the route of GET.
    app.all(path, ({ request }) =>
      observer.observe(request, template, (trace) => {
        const handler = handlers.get(request.method);
        return handler === undefined ? methodNotAllowed(methods) : pipeline.serve(request, trace, handler);
      }),
    );
  }
  return app;
}

/** The same endpoints for agents. */
function mcpRoute(parts: AppParts, endpoints: Endpoint[]) {
  const handlers = new Map(endpoints.map(({ route, handler }) => [route, handler]));
  const answer = createMcp({ ...parts, handlers });
  return new Elysia({ name: 'mcp' }).all(MCP_PATH, ({ request }) =>
    parts.observer.observe(request, MCP_PATH, (trace) =>
      request.method === 'POST' ? answer(request, trace) : methodNotAllowed('POST'),
    ),
  );
}
