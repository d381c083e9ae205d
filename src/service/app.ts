import { Elysia } from 'elysia';
import { dashboardRoutes, NO_PAGE } from '../dashboard/dashboard.ts';
import { methodNotAllowed, problem } from '../http/answer.ts';
import { BASE_PATH, endpointOf, MCP_PATH, methodOf, statusesOf, templateOf } from '../http/api-route.ts';
import { pathOf } from '../http/url.ts';
import { createMcp, type McpParts } from '../mcp/mcp-route.ts';
import { createRestFace } from '../metering/admission/face.ts';
import type { AnswerUnknown } from './listen.ts';
import { type PublicParts, publicRoutes } from './public-routes.ts';

export type AppParts = McpParts & PublicParts;

/**
 * All routes together, without a socket (listen.ts opens that).
 *
 * Handlers destructure what they use, `({ request }) => …`, because Elysia reads their source. If one passes its whole context
 * on, Elysia parses cookies, copies headers and rebuilds every response (test/service/app.test.ts).
 */
export function createApp(parts: AppParts) {
  const { observer, metrics } = parts;
  for (const route of parts.handlers.keys()) {
    metrics.requests.expect(BASE_PATH + templateOf(route.path), [200, ...statusesOf(route)]);
  }
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
      .use(apiRoutes(parts))
      .use(mcpRoute(parts))
      .use(publicRoutes(parts))
      .use(dashboardRoutes(parts.dashboard))
      .use(parts.dashboard.connectionRoutes)
      // A browser at the bare address gets the front page; other clients are led to the reference, relative as behind a proxy's path.
      .get('/', ({ request }) =>
        observer.observe(request, 'unknown', () =>
          request.headers.get('accept')?.includes('text/html')
            ? parts.dashboard.publicPages.front(request)
            : new Response(null, { status: 303, headers: { Location: 'openapi' } }),
        ),
      )
  );
}

/** Answers the paths that have no route, so there is no route with a wildcard (`sentPaths`). */
export function createUnknown(parts: Pick<AppParts, 'observer' | 'dashboard'>): AnswerUnknown {
  const { observer, dashboard } = parts;
  return (request, peer) =>
    /^\/dashboard(\/|$)/.test(pathOf(request.url))
      ? dashboard.handle(request, peer, NO_PAGE)
      : observer.observe(
          request,
          'unknown',
          () => dashboard.publicPages.notFound(request) ?? problem('not-found'),
        );
}

/**
 * The metered endpoints. Elysia validates nothing: each request goes through the pipeline, and its input is read after its token,
 * because bad input is charged (specification, Endpoints).
 *
 * Admission in a `derive`, which runs before validation, was tried: lookups cost as much, refusals 5.5% more, and the pipeline was in two
 * places. Elysia also takes the last `q` of several, this API the first.
 */
function apiRoutes({ pipeline, observer, handlers, stopping }: AppParts) {
  const app = new Elysia({ name: 'api', prefix: BASE_PATH });
  for (const [path, routes] of Map.groupBy(handlers.keys(), ({ path }) => path)) {
    const template = BASE_PATH + templateOf(path);
    const methods = routes.map(methodOf).join(', ');
    for (const route of routes) {
      const call = createRestFace(route, handlers.get(route)!, stopping);
      const endpoint = endpointOf(route);
      const add = methodOf(route) === 'POST' ? app.post.bind(app) : app.get.bind(app);
      add(
        path,
        ({ request }) =>
          observer.observe(request, template, (trace) => {
            trace.endpoint = endpoint;
            // Elysia answers HEAD by the route of GET.
            return request.method === 'HEAD'
              ? methodNotAllowed(methods)
              : pipeline.serve(request, trace, call(request));
          }),
        { detail: route.detail, parse: 'none' },
      );
    }
    app.all(path, ({ request }) => observer.observe(request, template, () => methodNotAllowed(methods)));
  }
  return app;
}

/** The same endpoints for agents. */
function mcpRoute(parts: AppParts) {
  const answer = createMcp(parts);
  return new Elysia({ name: 'mcp' })
    .post(
      MCP_PATH,
      ({ request }) => parts.observer.observe(request, MCP_PATH, (trace) => answer(request, trace)),
      { parse: 'none' },
    )
    .all(MCP_PATH, ({ request }) =>
      parts.observer.observe(request, MCP_PATH, () => methodNotAllowed('POST')),
    );
}
