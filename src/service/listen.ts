import http from 'node:http';
import type { AnyElysia } from 'elysia';
import type { Config } from '../platform/config/config.ts';
import { codeOf, messageOf, RefusedError } from '../platform/errors.ts';
import { KIB, SECOND } from '../platform/units.ts';
import { sentPaths } from './sent-paths.ts';

/**
 * Bun answers a longer body with a bare 413. The bounds of a batch lookup (64 KiB) and of a form (16 KiB) are lower, so that a
 * body a little too long gets our answer.
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
export function listen(app: AnyElysia, unknown: AnswerUnknown, config: Config, port: number): void {
  // Bun's idle timeout also ends a request in flight without output, so it must be longer than the slowest lookup.
  const slowestMs = 2 * config.providerTimeoutMs + 5 * SECOND;
  const idleTimeout = Math.min(255, Math.max(30, Math.ceil(slowestMs / SECOND)));
  // Bun's server has no option for this. It reads Node's, which can be set, though not by the types.
  Object.assign(http, { maxHeaderSize: MAX_HEADER_BYTES });
  try {
    app.compile();
    const route = app.fetch;
    const paths = app.routes.map(({ path }) => path);
    // Elysia's own `listen` has no place before its router. Its `stop` and its handlers use `app.server`.
    app.server = Bun.serve({
      hostname: config.host,
      port,
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
    throw notListening(config.host, port, error);
  }
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
