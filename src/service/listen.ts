import http from 'node:http';
import type { BunRequest, Server } from 'bun';
import type { AnyElysia } from 'elysia';
import { createBunRouteHandler } from 'elysia/adapter/bun/compose';
import type { Config } from '../config.ts';
import { codeOf, messageOf, RefusedError } from '../errors.ts';
import { pathOf } from '../http/url.ts';
import { KIB, SECOND } from '../units.ts';
import type { Shortcut } from './app.ts';

/**
 * Bun answers a longer body with a bare 413. The bounds of a batch lookup (64 KiB) and of a form (16 KiB) are lower, so that a
 * body a little too long gets our answer.
 */
const MAX_BODY_BYTES = 256 * KIB;

/**
 * The bound of request line and headers together. Bun answers more than its default of 16 KiB with a bare 431, but a long `q`
 * is a search that finds nothing and costs a credit (specification, search).
 */
const MAX_HEADER_BYTES = 64 * KIB;

/**
 * Listens on the port.
 *
 * Elysia's `listen` always offers WebSockets, and Bun then answers `Expect: 100-continue` once for each of a path's routes. It
 * also leaves some paths to Elysia's router, which only sees normalized ones ({@link routesOf}).
 *
 * @param shortcuts asked before Elysia, by method and path of its routes
 * @param sharePort whether other processes listen there too; the kernel then distributes connections
 * @throws RefusedError when the port is taken, or the host is not one of this machine's
 */
export function listen(
  app: AnyElysia,
  shortcuts: Map<string, Shortcut>,
  config: Config,
  port: number,
  sharePort: boolean,
): void {
  // Bun's idle timeout also ends a request in flight without output, so it must be longer than the slowest lookup.
  const slowestMs = 2 * config.providerTimeoutMs + 5 * SECOND;
  const idleTimeout = Math.min(255, Math.max(30, Math.ceil(slowestMs / SECOND)));
  // Bun's server has no option for this. It reads Node's, which can be set, though not by the types.
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
      ...routesOf(app, shortcuts),
    });
  } catch (error) {
    throw notListening(config.host, port, error);
  }
}

/** The methods that Bun's routes know. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

type RouteHandler = (request: BunRequest, server: Server<unknown>) => Response | Promise<Response>;
type Routes = Record<string, RouteHandler | Partial<Record<string, RouteHandler>>>;

/**
 * All routes of the app for Bun's router, and the handler for other paths.
 *
 * Bun matches a path as it was sent, and gives the handler a normalized address (`/./`, `/%2e%2e/` and `\\` resolved). Elysia's
 * router, which sees that address, does not match paths. So a path that is not normalized matches no route, and no path
 * bypasses the rules of a proxy. Parameters match any one segment, so they are checked.
 */
function routesOf(app: AnyElysia, shortcuts: Map<string, Shortcut>) {
  app.compile();
  const routes: Routes = {};
  let notFound: RouteHandler = () => new Response(null, { status: 404 });
  for (const route of app.routes) {
    const handle = createBunRouteHandler(app, route) as unknown as RouteHandler;
    if (route.path === '/*') notFound = handle;
    // Without a list of methods, because Bun then closes the connection of an unknown method.
    else if (route.path.endsWith('*')) routes[route.path] = handle;
    else {
      const whole: RouteHandler = route.path.includes(':')
        ? (request, server) => (hasNormalParameters(request) ? handle : notFound)(request, server)
        : handle;
      const shortcut = shortcuts.get(`${route.method} ${route.path}`);
      const handler: RouteHandler =
        shortcut === undefined ? whole : (request, server) => shortcut(request) ?? whole(request, server);
      const ofPath = (routes[route.path] ?? {}) as Partial<Record<string, RouteHandler>>;
      for (const method of route.method === 'ALL' ? METHODS : [route.method]) ofPath[method] ??= handler;
      routes[route.path] = ofPath;
    }
  }
  return {
    routes: routes as Record<string, RouteHandler>,
    fetch: (request: Request, server: Server<unknown>) =>
      // Elysia answers methods that Bun's routes don't know (TRACE, PROPFIND), with a 405 if the path has a route.
      (METHODS as readonly string[]).includes(request.method)
        ? notFound(request as BunRequest, server)
        : app.fetch(request),
  };
}

/** Whether no parameter is a dot segment or has an unescaped backslash. Escaped ones are data. */
function hasNormalParameters({ params, url }: BunRequest): boolean {
  for (const name in params) {
    const value = (params as Record<string, string>)[name]!;
    if (value === '.' || value === '..') return false;
    if (value.includes('\\') && value.split('\\').length !== pathOf(url).split(/%5c/i).length) return false;
  }
  return true;
}

/**
 * The given port if it is free now; for `PORT=0` any free one, because the app needs the address before it listens.
 * @throws RefusedError when the port is taken, or the host can't be listened on
 */
export function freePort(host: string, port: number): number {
  try {
    const listener = Bun.listen({ hostname: host, port, socket: { data() {} } });
    listener.stop(true);
    return listener.port;
  } catch (error) {
    throw notListening(host, port, error);
  }
}

/** Causes by the error's code. Bun's messages differ between its listeners, and not all have the cause. */
const CAUSES: Record<string, string> = {
  EADDRINUSE: 'something listens there already: stop it, or set another PORT (or HOST)',
  EADDRNOTAVAIL: 'HOST is no address of this machine',
  EACCES: 'this user may not: set PORT to 1024 or above',
};

function notListening(host: string, port: number, error: unknown): RefusedError {
  // The error of an unknown host name has no code.
  const cause = CAUSES[codeOf(error) ?? 'EADDRNOTAVAIL'] ?? messageOf(error);
  return new RefusedError(`can't listen on ${host}:${port}: ${cause}`);
}
