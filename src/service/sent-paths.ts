import type { BunRequest, Server } from 'bun';
import { pathOf } from '../http/url.ts';

type Answer<R extends Request = Request> = (
  request: R,
  server: Server<undefined>,
) => Response | Promise<Response>;

/**
 * The `routes` and the `fetch` of `Bun.serve` for an app's paths. A path that a URL parser would change is no path of the app: `/./`,
 * `/x/../`, `%2e%2e` and `\` pass the rules of a proxy, and in `request.url` they are normalized already. Bun matches its routes
 * by the path as it was sent, so a literal segment is right, and {@link isAsSent} checks the parameters.
 *
 * @param paths those of the app's router, with `:parameters`; a wildcard would match changed paths
 * @param known answers a request to one of them
 * @param unknown answers every other one
 */
export function sentPaths(paths: Iterable<string>, known: Answer, unknown: Answer) {
  const routes: Record<string, Answer<BunRequest>> = {};
  for (const path of new Set(paths)) {
    const form = path.includes(':') ? new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`) : null;
    routes[path] = (request, server) => {
      const { params } = request;
      const addressed = withAddress(request);
      const isRight = form === null || isAsSent(pathOf(addressed.url), params, form);
      return (isRight ? known : unknown)(addressed, server);
    };
  }
  const fetch: Answer = (request, server) => unknown(withAddress(request), server);
  return { routes, fetch };
}

/**
 * Whether a path has its parameters as they were sent. `.` and `..` remove segments, and `\` begins one: then the path no longer
 * has the form of its route, or a parameter has a `\` that is not escaped in the path.
 */
function isAsSent(path: string, params: Record<string, string>, form: RegExp): boolean {
  if (!form.test(path)) return false;
  const sent = Object.values(params).join('').split('\\').length - 1;
  return sent === 0 || sent === path.match(/%5c/gi)?.length;
}

/** Nothing reads this name: the service's own address is PUBLIC_URL. */
const NO_HOST = 'http://no-host.invalid';

/**
 * Gives a request without a usable Host an address. HTTP 1.0 needs no Host, and HAProxy's check sends none. Bun's `url` is the
 * path alone then, and the router looks for the path behind a host. The request stays the same object, because Bun gives no
 * peer address for another one.
 */
function withAddress(request: Request): Request {
  if (request.url.startsWith('/')) {
    Object.defineProperty(request, 'url', { value: new URL(`${NO_HOST}${request.url}`).href });
  }
  return request;
}
