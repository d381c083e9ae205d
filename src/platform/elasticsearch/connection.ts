import {
  BaseConnection,
  type ConnectionRequestOptions,
  type ConnectionRequestOptionsAsStream,
  type ConnectionRequestParams,
  type ConnectionRequestResponse,
  type ConnectionRequestResponseAsStream,
  errors,
} from '@elastic/elasticsearch';
import { certificateFault } from '../config/tls.ts';
import { codeOf } from '../errors.ts';
import { setTimeoutAfterIo } from '../runtime/timeout.ts';

type Headers = Record<string, string>;

/** Messages by the error's code, for operators. Bun's messages are for programmers (`pass verbose: true …`). */
const FAILURES: Record<string, string> = {
  // Bun's code for every connection that can't be opened.
  ECONNREFUSED: 'the connection is refused, or the host is out of reach',
  ENOTFOUND: 'the host is not found',
  EAI_AGAIN: 'the host is not found',
  ECONNRESET: 'the connection was closed without a whole answer',
  Malformed_HTTP_Response: 'what answers is not HTTP',
  EPROTO: 'what answers does not speak TLS',
};
const ADVICE = /[.:]? (?:For more information, pass .*|Is the computer able .*)$/s;

/**
 * The client's connection to Elasticsearch through Bun's `fetch`. The client's default connection needs parts of undici that
 * Bun lacks, and fails at its first call. Its other one uses `node:http`, which takes 1.5 times as long for a batch of
 * searches (docs/field-notes.md, Bun).
 *
 * A timeout covers the whole request, until the answer has been read, and closes the socket, so that Elasticsearch cancels the
 * search. An answer that arrived while the event loop was blocked is in time. Bodies are text or bytes; streams are refused, because
 * nothing here uses them.
 */
export class FetchConnection extends BaseConnection {
  readonly #running = new Set<AbortController>();

  override request(
    params: ConnectionRequestParams,
    options: ConnectionRequestOptions,
  ): Promise<ConnectionRequestResponse>;
  override request(
    params: ConnectionRequestParams,
    options: ConnectionRequestOptionsAsStream,
  ): Promise<ConnectionRequestResponseAsStream>;
  override async request(
    params: ConnectionRequestParams,
    options: ConnectionRequestOptions | ConnectionRequestOptionsAsStream,
  ): Promise<ConnectionRequestResponse | ConnectionRequestResponseAsStream> {
    if ('asStream' in options) throw new errors.ConfigurationError('Streams are not supported');
    const cancelling = new AbortController();
    this.#running.add(cancelling);
    const cancel = () => cancelling.abort(new errors.RequestAbortedError('Request aborted'));
    options.signal?.addEventListener('abort', cancel, { once: true });
    const timeoutMs = options.timeout ?? this.timeout;
    const expire = () => cancelling.abort(new errors.TimeoutError('no answer in time'));
    const timer = timeoutMs === null ? undefined : setTimeoutAfterIo(expire, timeoutMs);
    try {
      return await this.#send(params, cancelling.signal);
    } catch (error) {
      if (cancelling.signal.aborted) throw cancelling.signal.reason;
      throw new errors.ConnectionError(failureOf(error));
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', cancel);
      this.#running.delete(cancelling);
    }
  }

  async #send(params: ConnectionRequestParams, signal: AbortSignal): Promise<ConnectionRequestResponse> {
    const { method, path, querystring } = params;
    // The node's address may have a path.
    const base = this.url.origin + this.url.pathname.replace(/\/$/, '');
    const response = await fetch(`${base}${path}${querystring ? `?${querystring}` : ''}`, {
      method,
      // Compression would take both sides longer than it saves.
      headers: {
        ...(this.headers as Headers),
        ...(params.headers as Headers),
        'accept-encoding': 'identity',
      },
      body: params.body as string | Uint8Array<ArrayBuffer> | null | undefined,
      redirect: 'manual',
      signal,
      // Our timeout is the only one. Bun's would end a force merge after five minutes.
      timeout: false,
      // The environment's proxy is for outside addresses, not for our Elasticsearch.
      proxy: false,
    } as BunFetchRequestInit);
    const body = await response.text();
    return { body, headers: Object.fromEntries(response.headers), statusCode: response.status };
  }

  /** Cancels requests in flight. Bun closes idle sockets itself. */
  override async close(): Promise<void> {
    for (const running of this.#running)
      running.abort(new errors.RequestAbortedError('The client was closed'));
  }
}

function failureOf(error: unknown): string {
  const known = certificateFault(error) ?? FAILURES[codeOf(error) ?? ''];
  return known ?? (error instanceof Error ? error.message.replace(ADVICE, '') : 'the connection failed');
}
