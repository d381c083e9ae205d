import { type AnyElysia, Elysia } from 'elysia';
import { dashboardRoutes, NO_PAGE } from '../dashboard/dashboard.ts';
import { problem } from '../http/answer.ts';
import { BASE_PATH, endpointOf, MCP_PATH, methodOf, statusesOf, templateOf } from '../http/api-route.ts';
import type { RequestTrace } from '../http/observe.ts';
import { pathOf } from '../http/url.ts';
import { createMcp, type McpParts } from '../mcp/mcp-route.ts';
import { createRestFace } from '../metering/admission/face.ts';
import type { AnswerUnknown } from './listen.ts';
import { addPath } from './path.ts';
import { addPublicPages, type PublicParts } from './public-routes.ts';

export type AppParts = McpParts & PublicParts;

/** All routes together, without a socket (listen.ts opens that). */
export function createApp(parts: AppParts) {
  const { observer, dashboard } = parts;
  const app = new Elysia({
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
    .use(dashboardRoutes(dashboard))
    .use(dashboard.connectionRoutes)
    // A browser at the bare address gets the front page; other clients are led to the reference, relative as behind a proxy's path.
    .get('/', ({ request }) =>
      observer.observe(request, 'unknown', () =>
        request.headers.get('accept')?.includes('text/html')
          ? dashboard.publicPages.front(request)
          : new Response(null, { status: 303, headers: { Location: 'openapi' } }),
      ),
    );
  addApi(app, parts);
  addPath(app, observer, MCP_PATH, { POST: createMcp(parts) });
  addPublicPages(app, parts);
  return app;
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
function addApi(app: AnyElysia, { pipeline, observer, metrics, handlers, stopping }: AppParts): void {
  for (const [path, routes] of Map.groupBy(handlers.keys(), ({ path }) => path)) {
    const answers = routes.map((route) => {
      metrics.requests.expect(BASE_PATH + templateOf(path), [200, ...statusesOf(route)]);
      const call = createRestFace(route, handlers.get(route)!, stopping);
      const endpoint = endpointOf(route);
      const answer = (request: Request, trace: RequestTrace) => {
        trace.endpoint = endpoint;
        return pipeline.serve(request, trace, call(request));
      };
      return [methodOf(route), answer];
    });
    addPath(app, observer, BASE_PATH + path, Object.fromEntries(answers));
  }
}
