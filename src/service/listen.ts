import http from 'node:http';
import type { AnyElysia } from 'elysia';
import type { Config } from '../config.ts';
import { messageOf, RefusedError } from '../errors.ts';
import { KIB, SECOND } from '../units.ts';

/** Requests carry no body (specification, Endpoints); the dashboard's forms are small. */
const MAX_BODY_BYTES = 64 * KIB;

/**
 * Of the request line and the headers together. Bun answers more than its 16 KiB with a bare 431 of its own; a long `q` is a
 * search that finds nothing (specification, search), and costs what a search costs.
 */
const MAX_HEADER_BYTES = 64 * KIB;

/**
 * Listens on the port.
 * @param sharePort other processes listen there too, and the kernel deals the connections out
 * @throws RefusedError in one line when the port is taken, or the host none of this machine's
 */
export function listen(app: AnyElysia, config: Config, port: number, sharePort: boolean): void {
  // Bun's idle time-out cuts a request in flight that has written nothing yet: it must outlast the slowest lookup.
  const slowestMs = 2 * config.providerTimeoutMs + 5 * SECOND;
  const idleTimeout = Math.min(255, Math.max(30, Math.ceil(slowestMs / SECOND)));
  // Bun's server has no option for it, but reads node's, which Bun lets be set while its types don't.
  Object.assign(http, { maxHeaderSize: MAX_HEADER_BYTES });
  try {
    app.listen({
      hostname: config.host,
      port,
      // Elysia's default would let a second service start on the same port unnoticed.
      reusePort: sharePort,
      // On by Elysia's default unless NODE_ENV is production: Bun answers /bun:info then, and an uncaught error with its stack.
      development: false,
      idleTimeout,
      maxRequestBodySize: MAX_BODY_BYTES,
    });
  } catch (error) {
    throw notListening(config.host, port, error);
  }
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
