import { randomUUID } from 'node:crypto';
import type { Log } from '../platform/observability/log.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { mayHoldSecret } from '../platform/observability/redaction.ts';
import { type Answer, responseTo } from './answer.ts';
import { dropBody } from './body.ts';
import { traceIdOf } from './traceparent.ts';

/** Filled as soon as the caller is known, so that the log line of a request that fails later has it. */
export interface Trace {
  account?: string;
  /** Empty for a call made in the dashboard. */
  keyId?: string;
  /** Credits that the request has cost; absent if the caller is not known. */
  credits?: number;
  /** The caller has a test key, so the request is no failure of the service, and is counted apart. */
  isTest?: boolean;
  /** An id of ours that no other request has; absent: the activity has nothing of the request. */
  callId?: string;
  /** The `X-Request-Id` of the answer. A caller may send the same one often. */
  requestId?: string;
  /** The endpoint or the tool, for the activity. */
  endpoint?: string;
}

/** The parts of a request's log line, gathered while it is answered. */
export interface RequestTrace extends Trace {
  callId: string;
  requestId: string;
  /** The status of the line and the metrics, if it is not that of the response. */
  status?: number;
  /** The call of a tool that the request carries (src/mcp). It is recorded as a request of the tool's route. */
  call?: RecordedCall;
}

interface RecordedCall {
  tool: string;
  /** The template of its route. */
  route: string;
  /** The status that the route would answer. */
  status: number;
  /** The error of a failed dependency. */
  error: unknown;
}

/** For a year browsers use only TLS for this host. Subdomains are excluded, because they may belong to other services. */
const STRICT_TRANSPORT_SECURITY = 'max-age=31536000';

/** An answer of the API, or a page as it stands. */
type Outcome = Answer | Response;

export type Observer = ReturnType<typeof createObserver>;

export function createObserver(parts: { publicUrl: string; log: Log; metrics: Metrics }) {
  const { publicUrl, log, metrics } = parts;
  const isHttps = new URL(publicUrl).protocol === 'https:';

  /**
   * Answers a request and records it: one log line, one count, one duration. A health check that succeeds has no line.
   *
   * @param route the route's template, never the requested address
   */
  async function observe(
    request: Request,
    route: string,
    answer: (trace: RequestTrace) => Outcome | Promise<Outcome>,
  ): Promise<Response> {
    const startedAt = performance.now();
    const callId = randomUUID();
    const trace: RequestTrace = { callId, requestId: givenIdOf(request) ?? callId };
    const { requestId } = trace;
    let response: Response;
    let error: unknown;
    metrics.requests.begin();
    try {
      const outcome = await answer(trace);
      if ('problem' in outcome) error = outcome.problem.cause;
      response = respond(publicUrl, outcome, requestId);
    } catch (thrown) {
      log.error({ err: thrown, requestId }, 'a request failed');
      response = respond(publicUrl, { ok: false, problem: { kind: 'internal-error' } }, requestId);
    }
    // A refusal does not read the body.
    if (request.method === 'POST') await dropBody(request);
    if (isHttps) response.headers.set('Strict-Transport-Security', STRICT_TRANSPORT_SECURITY);
    const durationMs = performance.now() - startedAt;
    const { account, keyId, credits, isTest = false, call, status = response.status } = trace;
    const recorded = call ?? { route, status, error };
    if (isTest) metrics.requests.endTest();
    else metrics.requests.end(recorded.route, recorded.status, durationMs);
    const line = {
      requestId,
      callId,
      traceId: traceIdOf(request.headers),
      method: request.method,
      durationMs,
      account,
      keyId,
      credits,
      isTest,
      ...recorded,
    };
    if (!isRoutine(line)) log.request(isTest ? { ...line, error: undefined } : line);
    return response;
  }

  return { observe };
}

/** Balancers ask for the health every second. Their checks are counted, and a failed one is in the log. */
const isRoutine = ({ route, status }: { route: string; status: number }) =>
  route.startsWith('/health/') && status < 400;

function respond(publicUrl: string, outcome: Outcome, requestId: string): Response {
  const isPage = outcome instanceof Response;
  const response = isPage ? outcome : responseTo(publicUrl, outcome);
  response.headers.set('X-Request-Id', requestId);
  if (isPage) response.headers.set('X-Content-Type-Options', 'nosniff');
  return response;
}

/** Short and plain, so that it can be printed anywhere. */
const ACCEPTABLE = /^[A-Za-z0-9._-]{1,64}$/;

/** The caller's `X-Request-Id` if it is short, plain and no key. Every log line has it, or the call's id. */
function givenIdOf(request: Request): string | null {
  const given = request.headers.get('x-request-id');
  return given !== null && ACCEPTABLE.test(given) && !mayHoldSecret(given) ? given : null;
}
