import http from 'node:http';
import type { BunRequest, Server } from 'bun';
import type { AnyElysia } from 'elysia';
import { createBunRouteHandler } from 'elysia/adapter/bun/compose';
import type { Config } from '../config.ts';
import { messageOf, RefusedError } from '../errors.ts';
import { pathOf } from '../http/url.ts';
import { KIB, SECOND } from '../units.ts';

/**
 * Bun answers a longer body with a bare 413. The bounds of what is read, 64 KiB of a batch lookup and 16 KiB of a
 * form, are below it, so that a body a little too long gets an answer of ours.
 */
const MAX_BODY_BYTES = 256 * KIB;

/**
 * Of the request line and the headers together. Bun answers more than its 16 KiB with a bare 431; a long `q` is a
 * search that finds nothing (specification, search), and costs what a search costs.
 */
const MAX_HEADER_BYTES = 64 * KIB;

/**
 * Listens on the port.
 *
 * Not by Elysia's own `listen`, which always offers WebSockets: Bun then answers `Expect: 100-continue` once for each of a
 * path's routes. It also leaves some paths to Elysia's router, which sees them normalized only ({@link routesOf}).
 *
 * @param sharePort other processes listen there too, and the kernel deals the connections out
 * @throws RefusedError when the port is taken, or the host none of this machine's
 */
export function listen(app: AnyElysia, config: Config, port: number, sharePort: boolean): void {
  // Bun's idle time-out cuts a request in flight that has written nothing yet: it must outlast the slowest lookup.
  const slowestMs = 2 * config.providerTimeoutMs + 5 * SECOND;
  const idleTimeout = Math.min(255, Math.max(30, Math.ceil(slowestMs / SECOND)));
  // Bun's server has no option for it, but reads node's, which Bun lets be set while its types don't.
  Object.assign(http, { maxHeaderSize: MAX_HEADER_BYTES });
  try {
    app.server = Bun.serve({
      hostname: config.host,
      port,
      // A second service must not start on the same port unnoticed.
      reusePort: sharePort,
      // Bun would answer /bun:info, and an uncaught error with its stack.
      development: false,
      idleTimeout,
      maxRequestBodySize: MAX_BODY_BYTES,
      ...routesOf(app),
    });
  } catch (error) {
    throw notListening(config.host, port, error);
  }
}

/** The methods that a route of Bun's can have. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

type RouteHandler = (request: BunRequest, server: Server<unknown>) => Response | Promise<Response>;
type Routes = Record<string, RouteHandler | Partial<Record<string, RouteHandler>>>;

/**
 * All routes of the app for Bun's router, and what answers when none matches.
 *
 * Bun matches a path as it was sent, and gives a normalized address (`/./`, `/%2e%2e/` and `\\` resolved) to whatever handles
 * it. Elysia's router, which sees that address, is not asked for a path. So a path that is not normalized matches no route,
 * and a proxy's rules for a path can't be got round. What is left are parameters, which match any one segment.
 */
function routesOf(app: AnyElysia) {
  app.compile();
  const routes: Routes = {};
  let notFound: RouteHandler = () => new Response(null, { status: 404 });
  for (const route of app.routes) {
    const handle = createBunRouteHandler(app, route) as unknown as RouteHandler;
    if (route.path === '/*') notFound = handle;
    // Not by method: Bun cuts off methods that it doesn't know where a wildcard has a list of methods.
    else if (route.path.endsWith('*')) routes[route.path] = handle;
    else {
      const handler = route.path.includes(':') ? withNormalParameters(handle, () => notFound) : handle;
      const ofPath = (routes[route.path] ?? {}) as Partial<Record<string, RouteHandler>>;
      for (const method of route.method === 'ALL' ? METHODS : [route.method]) ofPath[method] ??= handler;
      routes[route.path] = ofPath;
    }
  }
  return {
    routes: routes as Record<string, RouteHandler>,
    fetch: (request: Request, server: Server<unknown>) =>
      // Methods that Bun's routes don't know (TRACE, PROPFIND) are a 405 where there is a route: Elysia knows.
      (METHODS as readonly string[]).includes(request.method)
        ? notFound(request as BunRequest, server)
        : app.fetch(request),
  };
}

function withNormalParameters(handle: RouteHandler, notFound: () => RouteHandler): RouteHandler {
  return (request, server) =>
    hasNormalParameters(request) ? handle(request, server) : notFound()(request, server);
}

/** Whether no parameter is a dot segment or has a backslash in it, other than an escaped one: those are data. */
function hasNormalParameters({ params, url }: BunRequest): boolean {
  for (const name in params) {
    const value = (params as Record<string, string>)[name]!;
    if (value === '.' || value === '..') return false;
    if (value.includes('\\') && value.split('\\').length !== pathOf(url).split(/%5c/i).length) return false;
  }
  return true;
}

/** @throws RefusedError when somebody listens on the port, or nobody can on the host */
export function requireFreePort(host: string, port: number): void {
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
  } catch (error) {
    throw notListening(host, port, error);
  }
}

/**
 * A port that is free now, for `PORT=0`: the address must be known before the app is made.
 * @throws RefusedError when nobody can listen on the host
 */
export function freePort(host: string): number {
  try {
    const listener = Bun.listen({ hostname: host, port: 0, socket: { data() {} } });
    const { port } = listener;
    listener.stop(true);
    return port;
  } catch (error) {
    throw notListening(host, 0, error);
  }
}

/** By the error's code: Bun's own words differ between its listeners, and not all of them have the cause. */
const CAUSES: Record<string, string> = {
  EADDRINUSE: 'something listens there already: stop it, or set another PORT (or HOST)',
  EADDRNOTAVAIL: 'HOST is no address of this machine',
  EACCES: 'this user may not: set PORT to 1024 or above',
};

function notListening(host: string, port: number, error: unknown): RefusedError {
  const { code } = error as { code?: unknown };
  // A name that stands for no address at all has no code.
  const cause = CAUSES[typeof code === 'string' ? code : 'EADDRNOTAVAIL'] ?? messageOf(error);
  return new RefusedError(`can't listen on ${host}:${port}: ${cause}`);
}
