import type { Readable } from 'node:stream';
import { Agent } from 'undici/index.js';
import { certificateFault } from '../../platform/config/tls.ts';
import { codeOf } from '../../platform/errors.ts';
import { createGate } from '../../platform/runtime/gate.ts';
import { isObject, parseUntrusted } from '../../platform/runtime/json.ts';
import { setTimeoutAfterIo } from '../../platform/runtime/timeout.ts';
import { MIB } from '../../platform/units.ts';
import { cleanText } from './clean-text.ts';
import { type Permit, SourceError, type SourceErrorReason, type SourceName } from './source-types.ts';

/** Enough for a burst of lookups. Further ones wait for a connection, for half of their timeout at most. */
const MAX_CONNECTIONS = 32;
/** An answer over 1 MiB is a failure (docs/api.md: not found). */
const MAX_BODY_BYTES = MIB;

export type JsonObject = Record<string, unknown>;

interface JsonRequest {
  url: URL;
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
  /** Statuses beyond 2xx whose JSON body the source reads; all others are a fault. */
  accept?: readonly number[];
  /** Statuses whose body is not read. It is answered as `{}`. */
  bare?: readonly number[];
}

/** One question to a source: all of its requests share one timeout. */
export interface Question {
  /** Aborts at the timeout. Its reason is `timeout`, or `busy` if this process was blocked then. */
  signal: AbortSignal;
  /** Sends a request and reads a JSON object. @throws SourceError, or what `permit` has thrown */
  ask(request: JsonRequest): Promise<{ status: number; body: JsonObject }>;
}

/**
 * The one client for providers, which are not trusted. It follows no redirect, asks for no compression, reads at most 1 MiB, and
 * accepts only a JSON object in well-formed UTF-8. Its faults hold no text of a provider, and no URL. It ignores the content
 * type, because parsing shows what the body is.
 *
 * @param timeoutMs for everything that a request does (docs/configuration.md). It also
 * ends an attempt to connect whose request has timed out
 */
export function createJsonClient(source: SourceName, timeoutMs: number) {
  const agent = new Agent({
    connections: MAX_CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    // The question's signal is the timeout; undici's would be a second, coarser one.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: MAX_BODY_BYTES,
    connect: { timeout: timeoutMs },
  });

  const connections = createGate({
    places: MAX_CONNECTIONS,
    placesOfOne: MAX_CONNECTIONS,
    maxWaiting: Number.POSITIVE_INFINITY,
    maxWaitMs: timeoutMs / 2,
  });

  return {
    /** @param permit called before each request that has a connection */
    begin(permit: Permit): Question {
      const timeout = new AbortController();
      const { signal } = timeout;
      setTimeoutAfterIo((isBusy) => timeout.abort(isBusy ? 'busy' : 'timeout'), timeoutMs).unref();
      return {
        signal,
        async ask(request) {
          const hasWaited = connections.isFull();
          const leave = await connections.enter(source).catch(() => {
            throw new SourceError(source, 'busy');
          });
          try {
            await permit();
            return await exchange(agent, source, request, signal).catch((error) => {
              if (!signal.aborted)
                throw error instanceof SourceError ? error : new SourceError(source, reasonOf(error));
              // The source has had only part of the time.
              throw new SourceError(source, hasWaited ? 'busy' : signal.reason);
            });
          } finally {
            leave();
          }
        },
      };
    },
    close: () => agent.destroy(),
  };
}

async function exchange(agent: Agent, source: SourceName, request: JsonRequest, signal: AbortSignal) {
  const { statusCode, body } = await agent.request({
    origin: request.url.origin,
    path: request.url.pathname + request.url.search,
    method: request.method ?? 'GET',
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'company-directory',
      ...request.headers,
    },
    body: request.body ?? null,
    signal,
  });
  const isRead = (statusCode >= 200 && statusCode < 300) || request.accept?.includes(statusCode);
  if (!isRead) {
    discard(body);
    if (request.bare?.includes(statusCode)) return { status: statusCode, body: {} };
    throw new SourceError(source, statusCode >= 300 && statusCode < 400 ? 'redirect' : 'http-status');
  }
  const json = parseUntrusted(await body.bytes());
  if (!isObject(json)) throw new SourceError(source, 'unreadable');
  return { status: statusCode, body: json };
}

/** Closes the connection without reading the rest, which could be endless. */
function discard(body: Readable): void {
  body.on('error', () => {});
  body.destroy();
}

/** Of the body, and of the headers. */
const TOO_LARGE = ['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'UND_ERR_HEADERS_OVERFLOW', 'HPE_HEADER_OVERFLOW'];

function reasonOf(error: unknown): SourceErrorReason {
  const code = codeOf(error);
  if (certificateFault(error) !== null) return 'certificate';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'timeout';
  if (TOO_LARGE.includes(code ?? '')) return 'too-large';
  // The answer isn't HTTP.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'unreadable';
  return 'unreachable';
}

/** A provider's base address (with or without a path, a slash at its end, a query) with a path added. */
export function urlUnder(base: string, path: string): URL {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/\/+$/, '') + path;
  return url;
}

/** A NIF as a provider writes it. A number has lost its leading zeros. */
export function nifText(value: unknown): string {
  return typeof value === 'number' ? String(value).padStart(9, '0') : cleanText(value);
}
