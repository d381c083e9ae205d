import { Elysia } from 'elysia';
import type { Handler, Pipeline } from '../admission/pipeline.ts';
import { type Dashboard, dashboardRoutes } from '../dashboard/dashboard.ts';
import { datasetsRoute } from '../datasets/route.ts';
import { methodNotAllowed, problem } from '../http/answer.ts';
import { type ApiRoute, BASE_PATH, methodOf, templateOf } from '../http/api-route.ts';
import type { Health } from '../http/health.ts';
import type { Observer } from '../http/observe.ts';
import { publicRoutes } from '../http/public-routes.ts';
import { OVERLOADED } from '../http/refusals.ts';
import { lookupsRoute } from '../lookup/batch.ts';
import { lookupRoute } from '../lookup/route.ts';
import type { Metrics } from '../observability/metrics.ts';
import { searchRoute } from '../search/route.ts';
import { usageRoute } from '../usage/route.ts';

/** The routes of the API in the order of the reference, by the names of their handlers. */
const ROUTES: Record<'search' | 'lookup' | 'batchLookup' | 'usage' | 'datasets', ApiRoute> = {
  search: searchRoute,
  lookup: lookupRoute,
  batchLookup: lookupsRoute,
  usage: usageRoute,
  datasets: datasetsRoute,
};
export const API_ROUTES = Object.values(ROUTES);

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
}

/**
 * All routes together, without a socket (listen.ts opens that).
 *
 * Handlers destructure what they use, `({ request }) => …`, because Elysia reads their source. If one passes its whole context
 * on, Elysia parses cookies, copies headers and rebuilds every response (test/service/app.test.ts).
 */
export function createApp(parts: AppParts) {
  const { publicUrl, observer } = parts;
  const endpoints = endpointsOf(parts);
  return (
    new Elysia({
      aot: true,
      strictPath: true,
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
      .all('/*', ({ request }) => observer.observe(request, 'unknown', () => problem('not-found')))
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

/** Answers a request that Elysia need not see; `null` leaves it to Elysia's route. */
export type Shortcut = (request: Request) => Response | null;

/**
 * The pipeline's refusals under overload, by method and path of Elysia's routes. Through Elysia and with one log line each, a
 * refusal took 2.5 µs more of its 20, and the service had time for a quarter fewer of the others.
 */
export function createShortcuts(parts: AppParts): Map<string, Shortcut> {
  const { pipeline, observer } = parts;
  return new Map(
    endpointsOf(parts).map(({ route, handler }) => {
      const refuse = observer.refusal(BASE_PATH + templateOf(route.path), OVERLOADED);
      const shortcut: Shortcut = (request) =>
        pipeline.wouldRefuse(request, handler) ? refuse(request) : null;
      return [`${methodOf(route)} ${BASE_PATH}${route.path}`, shortcut];
    }),
  );
}

/**
 * The metered endpoints: each request goes through the pipeline, and the handler validates its input.
 *
 * Elysia could validate in the right order, because `derive` runs before it. A trial had admission in a `derive`, and schemas
 * for `q` and the NIF. A lookup cost the service as much (×1.00, quartiles 0.98 to 1.05), a refusal 5.5% more (1.02 to 1.11),
 * since Elysia makes a new Response out of one that ends a `derive`. It was not kept, because the pipeline would be in two
 * places, calls from the dashboard would need another validation, and Elysia takes the last `q` of several, this API the first.
 */
function apiRoutes({ pipeline, observer }: Pick<AppParts, 'pipeline' | 'observer'>, endpoints: Endpoint[]) {
  const app = new Elysia({ name: 'api', prefix: BASE_PATH });
  for (const { route, handler } of endpoints) {
    const template = BASE_PATH + templateOf(route.path);
    const method = methodOf(route);
    app
      .route(method, route.path, ({ request }) =>
        observer.observe(request, template, (trace) => pipeline.serve(request, trace, handler)),
      )
      .all(route.path, ({ request }) => observer.observe(request, template, () => methodNotAllowed(method)));
  }
  return app;
}
