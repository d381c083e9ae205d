import http from 'node:http';
import type { BunRequest, Server } from 'bun';
import type { AnyElysia } from 'elysia';
import { pathOf } from '../http/url.ts';
import type { Config } from '../platform/config/config.ts';
import { codeOf, messageOf, RefusedError } from '../platform/errors.ts';
import { KIB, SECOND } from '../platform/units.ts';

/**
 * Bun answers a longer body with a bare 413. The bounds of JSON (`MAX_JSON_BYTES`) and of forms (`MAX_LIST_BYTES`) are lower, so
 * that a body a little too long gets our answer.
 */
const MAX_BODY_BYTES = 256 * KIB;

/**
 * The bound of request line and headers together. Bun answers more than its default of 16 KiB with a bare 431. But a long `q` is a
 * search that finds nothing and costs a credit (specification, search).
 */
const MAX_HEADER_BYTES = 64 * KIB;

/** Answers a request whose path is none of the app's. @param peer the address that the connection comes from, if it is known */
export type AnswerUnknown = (request: Request, peer: string | null) => Response | Promise<Response>;

/**
 * Listens on the port.
 *
 * @throws RefusedError when the port is taken, or the host is not one of this machine's
 */
export function listen(app: AnyElysia, unknown: AnswerUnknown, config: Config, held: HeldPort): void {
  // Bun's idle timeout also ends a request in flight without output, so it must be longer than the slowest lookup.
  const slowestMs = 2 * config.providerTimeoutMs + 5 * SECOND;
  const idleTimeout = Math.min(255, Math.max(30, Math.ceil(slowestMs / SECOND)));
  // Bun's server has no option for this. It reads Node's, which can be set, though not by the types.
  Object.assign(http, { maxHeaderSize: MAX_HEADER_BYTES });
  try {
    app.compile();
    const route = app.fetch;
    const paths = app.routes.map(({ path }) => path);
    held.release();
    // Elysia's own `listen` has no place before its router. Its `stop` and its handlers use `app.server`.
    app.server = Bun.serve({
      hostname: config.host,
      port: held.port,
      // Bun would answer /bun:info, and an uncaught error with its stack.
      development: false,
      // Bun's default without `development` is true: a second service would share the port, and take some of the requests.
      reusePort: false,
      idleTimeout,
      maxRequestBodySize: MAX_BODY_BYTES,
      ...sentPaths(paths, route, (request, server) =>
        unknown(request, server.requestIP(request)?.address ?? null),
      ),
    });
  } catch (error) {
    throw notListening(config.host, held.port, error);
  }
}

type HeldPort = ReturnType<typeof holdPort>;

/**
 * The port to listen on. For `PORT=0` it is any free one, because the app needs the address before it listens. No other program gets
 * that one before its release.
 * @throws RefusedError when the host can't be listened on, for `PORT=0`
 */
export function holdPort(host: string, port: number) {
  if (port !== 0) return { port, release() {} };
  try {
    const listener = Bun.listen({ hostname: host, port, socket: { data() {} } });
    return { port: listener.port, release: () => listener.stop(true) };
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

type Answer<R extends Request = Request> = (
  request: R,
  server: Server<undefined>,
) => Response | Promise<Response>;

/**
 * A Host that is read as a part of the request's address. Of another one Bun unescapes and orders the characters, in the square of
 * their number: 10,000 accents, escaped, took 220 ms of every request, before its route.
 */
const HOST = /^[\x20-\x24\x26-\x7e]{0,300}$/;

/** A longer path has no valid NIF or id. In its place the router gets `-`, because it unescapes them: 60,000 bytes took 5 ms. */
const MAX_PATH_LENGTH = 1000;
const NO_ID = '-';

/**
 * The `routes` and the `fetch` of `Bun.serve` for an app's paths. A path that a URL parser would change is no path of the app: `/./`,
 * `/x/../`, `%2e%2e` and `\` pass the rules of a proxy, and in `request.url` they are normalized already. Bun matches its routes
 * by the path as it was sent, so a literal segment is right, and {@link isAsSent} checks the parameters.
 *
 * @param paths those of the app's router, with `:parameters`; a wildcard would match changed paths
 * @param known answers a request to one of them
 * @param unknown answers every other one
 */
function sentPaths(paths: Iterable<string>, known: Answer, unknown: Answer) {
  const routes: Record<string, Answer<BunRequest>> = {};
  for (const path of new Set(paths)) {
    const form = path.includes(':') ? new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`) : null;
    routes[path] = withHost((request, server) => {
      const addressed = withAddress(request);
      if (form === null) return known(addressed, server);
      const sent = pathOf(addressed.url);
      if (sent.length > MAX_PATH_LENGTH)
        return known(withPath(addressed, path.replace(/:\w+/, NO_ID)), server);
      return (isAsSent(sent, request.params, form) ? known : unknown)(addressed, server);
    });
  }
  return { routes, fetch: withHost((request, server) => unknown(withAddress(request), server)) };
}

/** Refuses a Host of another form before anything reads the request's address. */
const withHost =
  <R extends Request>(answer: Answer<R>): Answer<R> =>
  (request, server) =>
    HOST.test(request.headers.get('host') ?? '')
      ? answer(request, server)
      : new Response('The header Host is not valid.', { status: 400 });

/**
 * Whether a path has its parameters as they were sent. `.` and `..` remove segments, and `\` begins one: then the path no longer
 * has the form of its route, or a parameter has a `\` that is not escaped in the path.
 */
function isAsSent(path: string, params: Record<string, string>, form: RegExp): boolean {
  if (!form.test(path)) return false;
  let sent = 0;
  for (const name in params) if (params[name]!.includes('\\')) sent += params[name]!.split('\\').length - 1;
  return sent === 0 || sent === path.match(/%5c/gi)?.length;
}

/** Nothing reads this name: the service's own address is PUBLIC_URL. */
const NO_HOST = 'http://no-host.invalid';

/**
 * Gives a request without a usable Host an address. HTTP 1.0 needs no Host, and HAProxy's check sends none. Bun's `url` is the
 * path alone then, and the router looks for the path behind a host. The request stays the same object, because Bun gives no
 * peer address for another one.
 */
const withAddress = (request: Request): Request =>
  request.url.startsWith('/') ? withPath(request, request.url) : request;

/** Gives the same request another path. */
function withPath(request: Request, path: string): Request {
  return Object.defineProperty(request, 'url', {
    value: new URL(`${NO_HOST}${path}`).href,
    configurable: true,
  });
}
