import {
  BaseConnection,
  type ConnectionRequestOptions,
  type ConnectionRequestOptionsAsStream,
  type ConnectionRequestParams,
  type ConnectionRequestResponse,
  type ConnectionRequestResponseAsStream,
  errors,
} from '@elastic/elasticsearch';
import { codeOf } from '../errors.ts';
import { certificateFault } from '../tls.ts';

type Headers = Record<string, string>;

/** By the error's code. Bun's own words are for programmers (`pass verbose: true …`), and these reach operators. */
const FAILURES: Record<string, string> = {
  // Bun says so of every connection that doesn't come about.
  ECONNREFUSED: 'the connection is refused, or the host is out of reach',
  ENOTFOUND: 'the host is not found',
  EAI_AGAIN: 'the host is not found',
  ECONNRESET: 'the connection was closed without a whole answer',
  Malformed_HTTP_Response: 'what answers is not HTTP',
  EPROTO: 'what answers does not speak TLS',
};
const ADVICE = /[.:]? (?:For more information, pass .*|Is the computer able .*)$/s;

/**
 * The client's connection to Elasticsearch through Bun's own `fetch`. The client's default one needs parts of undici that
 * Bun's copy lacks, and fails at its first call; its other one goes through `node:http`, which takes half as long again
 * for a batch of searches (docs/performance.md).
 *
 * A time-out is one of the whole, until the answer has been read, and closes the socket: Elasticsearch drops a search then.
 * Bodies are text or bytes, as everything here sends and asks for: streams are refused.
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
    const timer = timeoutMs === null ? undefined : setTimeout(expire, timeoutMs);
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
      // Unpacking takes both sides longer than sending what is packed.
      headers: {
        ...(this.headers as Headers),
        ...(params.headers as Headers),
        'accept-encoding': 'identity',
      },
      body: params.body as string | Uint8Array<ArrayBuffer> | null | undefined,
      redirect: 'manual',
      signal,
      // Ours is the only limit: Bun's would end a force merge after five minutes.
      timeout: false,
      // Elasticsearch is ours, and the proxy that the environment names is for what is outside.
      proxy: false,
    } as BunFetchRequestInit);
    const body = await response.text();
    return { body, headers: Object.fromEntries(response.headers), statusCode: response.status };
  }

  /** Ends whatever is under way. Bun closes the sockets itself when nothing has used them for a while. */
  override async close(): Promise<void> {
    for (const running of this.#running)
      running.abort(new errors.RequestAbortedError('The client was closed'));
  }
}

function failureOf(error: unknown): string {
  const known = certificateFault(error) ?? FAILURES[codeOf(error) ?? ''];
  return known ?? (error instanceof Error ? error.message.replace(ADVICE, '') : 'the connection failed');
}
