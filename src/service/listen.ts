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
 * @throws RefusedError in one line when the port is taken
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
    throw portTaken(config.host, port, error);
  }
}

/** @throws RefusedError when somebody listens on the port */
export function requireFreePort(host: string, port: number): void {
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
  } catch (error) {
    throw portTaken(host, port, error);
  }
}

/** A port that is free now, for `PORT=0`: the address must be known before the app is made. */
export function freePort(host: string): number {
  const listener = Bun.listen({ hostname: host, port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

/** The contract's default of `PUBLIC_URL`. */
export function defaultPublicUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function portTaken(host: string, port: number, error: unknown): RefusedError {
  return new RefusedError(`can't listen on ${host}:${port}: ${messageOf(error)}`);
}
