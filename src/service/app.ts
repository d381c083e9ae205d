import { createHash, timingSafeEqual } from 'node:crypto';
import { Elysia } from 'elysia';
import type { Chain, Handler } from '../admission/chain.ts';
import type { Dashboard } from '../dashboard/dashboard.ts';
import { type Answer, failure } from '../http/answer.ts';
import type { Health } from '../http/health.ts';
import type { Observer } from '../http/observe.ts';
import { BASE_PATH, createOpenApi } from '../http/openapi.ts';
import type { Operation } from '../http/operation.ts';
import { problemPage, referencePage } from '../http/pages.ts';
import { pathBehind } from '../http/url.ts';
import { lookupOperation } from '../lookup/route.ts';
import type { Metrics } from '../observability/metrics.ts';
import { searchOperation } from '../search/route.ts';
import { usageOperation } from '../usage/route.ts';

/** Every endpoint of the API, in the order of the reference. */
export const OPERATIONS: Operation[] = [searchOperation, lookupOperation, usageOperation];

export interface AppParts {
  publicUrl: string;
  chain: Chain;
  observer: Observer;
  metrics: Metrics;
  metricsToken: string | null;
  health: Health;
  search: Handler;
  lookup: Handler;
  usage: Handler;
  dashboard: Dashboard;
}

/** All routes together; apart from what listens, so that a test can call it without a socket. */
export function createApp(parts: AppParts) {
  const { publicUrl, chain, observer, metrics, metricsToken, health } = parts;
  const openapi = createOpenApi(publicUrl, OPERATIONS);
  const openapiJson = JSON.stringify(openapi);

  const metered = (operation: Operation, handler: Handler) => (context: { request: Request }) =>
    observer.observe(context.request, BASE_PATH + operation.path, (trace) =>
      chain.answer(context.request, trace, operation.charge, handler),
    );
  const notAllowed = (route: string) => (context: { request: Request }) =>
    observer.observe(context.request, route, () =>
      failure('method-not-allowed', undefined, { headers: { Allow: 'GET' } }),
    );
  const notFound = (context: { request: Request }) =>
    observer.observe(context.request, 'unknown', () => failure('not-found'));

  const app = new Elysia({
    aot: true,
    strictPath: true,
    // Elysia would look for the path behind the eleventh character: one of a request for `http://api/` is before it.
    handler: { standardHostname: false },
  });
  // Before the routes: those that come first don't have it.
  app.onError({ as: 'global' }, ({ request, code, error }) =>
    observer.observe(request, 'unknown', () => {
      if (code === 'NOT_FOUND') return failure('not-found');
      throw error;
    }),
  );
  /** @param path with `{parameters}`: its name in logs and metrics too, whatever the method */
  const get = (path: string, handler: (context: { request: Request }) => Response | Promise<Response>) => {
    const pattern = path.replace(/\{(\w+)\}/g, ':$1');
    const refuse = notAllowed(path);
    // Where only the normalized address is the route's (`/./companies/…`), Elysia finds the route instead of Bun. With a
    // parameter in its path it gives HEAD to the handler of GET, although HEAD has its own.
    const onlyGet = (context: { request: Request }) =>
      context.request.method === 'GET' ? handler(context) : refuse(context);
    app.get(pattern, onlyGet).head(pattern, refuse).all(pattern, refuse);
  };
  const endpoint = (operation: Operation, handler: Handler) =>
    get(BASE_PATH + operation.path, metered(operation, handler));

  const page = (path: string, answer: (request: Request) => Answer | Response | Promise<Answer | Response>) =>
    get(path, ({ request }) => observer.observe(request, path, () => answer(request)));

  endpoint(searchOperation, parts.search);
  endpoint(lookupOperation, parts.lookup);
  endpoint(usageOperation, parts.usage);

  page('/health/live', () => health.live());
  page('/health/ready', () => health.ready());
  page('/openapi', () => referencePage(publicUrl, OPERATIONS, openapi));
  page('/openapi/json', () => new Response(openapiJson, { headers: { 'Content-Type': 'application/json' } }));
  page('/problems/{kind}', ({ url }) => problemPage(pathBehind('/problems/', url)) ?? failure('not-found'));
  page('/metrics', async (request) => {
    if (!mayReadMetrics(request, metricsToken)) {
      return failure('unauthorized', 'The metrics want their own bearer token.', {
        headers: { 'WWW-Authenticate': 'Bearer' },
      });
    }
    return new Response(await metrics.text(), {
      headers: { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' },
    });
  });

  // `none`: the dashboard reads its forms itself.
  const dashboard = ({ request }: { request: Request }) =>
    parts.dashboard.handle(request, app.server?.requestIP(request)?.address ?? null);
  for (const path of ['/dashboard', '/dashboard/*']) {
    app.get(path, dashboard).head(path, dashboard).all(path, dashboard, { parse: 'none' });
  }

  return app.all('/*', notFound);
}

function mayReadMetrics(request: Request, token: string | null): boolean {
  if (token === null) return true;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  // The scheme without regard to case, as for keys (contract, choice 2).
  const given = /^bearer +(.*)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(given), digest(token));
}
