import { hash, timingSafeEqual } from 'node:crypto';
import type { AnyElysia } from 'elysia';
import type { Dashboard } from '../dashboard/dashboard.ts';
import { problem } from '../http/answer.ts';
import type { Observer } from '../http/observe.ts';
import { pathBehind } from '../http/url.ts';
import { bearerToken } from '../metering/keys/authenticate.ts';
import { isLoopbackHost } from '../platform/config/addresses.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { Health } from './health.ts';
import { addPath, type Outcome } from './path.ts';

export interface PublicParts {
  observer: Observer;
  health: Health;
  metrics: Metrics;
  metricsToken: string | null;
  /** The OpenAPI document of the endpoints. */
  openApi: object;
  dashboard: Dashboard;
}

/** The routes without an API key: health, metrics, the reference, and the pages of problems. */
export function addPublicPages(app: AnyElysia, parts: PublicParts): void {
  const { observer, health, metrics, metricsToken, dashboard } = parts;
  const pages = dashboard.publicPages;
  const openApi = JSON.stringify(parts.openApi);

  /** @param answer gets the address that the connection comes from; `null` if it is not known */
  const page = (path: string, answer: (request: Request, peer: string | null) => Outcome) =>
    addPath(app, observer, path, {
      GET: (request, _, server) => answer(request, server?.requestIP(request)?.address ?? null),
    });

  /** A page that costs more than its request. Each network has few of them a minute. */
  const limited = (path: string, answer: (request: Request) => Outcome) =>
    page(path, async (request, peer) => {
      const waitS = await pages.waitS(request, peer);
      if (waitS === 0) return answer(request);
      const detail = `An address has few requests a minute. The next one is possible in ${waitS} s.`;
      return problem('rate-limit-exceeded', detail, { headers: { 'Retry-After': String(waitS) } });
    });

  page('/health/live', () => health.live());
  page('/health/ready', () => health.ready());
  for (const path of ['/openapi', '/openapi/']) limited(path, (request) => pages.reference(request));
  // Tools guess this address. Relative, so that it holds behind a proxy's path, too.
  page('/openapi.json', () => new Response(null, { status: 303, headers: { Location: 'openapi/json' } }));
  page('/favicon.ico', () => new Response(null, { status: 303, headers: { Location: pages.icon } }));
  limited('/openapi/json', () => new Response(openApi, { headers: { 'Content-Type': 'application/json' } }));
  limited(
    '/problems/:kind',
    (request) =>
      pages.problem(request, pathBehind('/problems/', request.url)) ??
      pages.notFound(request) ??
      problem('not-found'),
  );
  page('/metrics', async (request, peer) => {
    const access = mayReadMetrics(request, peer, metricsToken);
    if (access === 'hidden') return problem('not-found');
    if (access === 'refused') {
      return problem('unauthorized', 'The metrics want their own bearer token.', {
        headers: { 'WWW-Authenticate': 'Bearer' },
      });
    }
    return new Response(await metrics.text(), {
      headers: { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' },
    });
  });
}

const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * Whether a request may read `/metrics` (docs/configuration.md). If a token is set, the request must carry it. Otherwise it must
 * come from this machine, to a loopback name, and without a header that a proxy adds; all others get 404.
 *
 * @param peer the address that the connection comes from; `null` if it is not known
 * @param token `METRICS_TOKEN`; `null` means that none is set
 */
export function mayReadMetrics(
  { headers }: Pick<Request, 'headers'>,
  peer: string | null,
  token: string | null,
): 'allowed' | 'refused' | 'hidden' {
  if (token === null) {
    // IPv4 can arrive over an IPv6 socket.
    const address = peer?.replace(/^::ffff:/i, '') ?? '';
    // HTTP 1.0 may name no host, and that is not this machine.
    const host = (headers.get('host') ?? '').slice(0, 300).replace(/:\d+$/, '');
    const isLocal = isLoopbackHost(address) && isLoopbackHost(host);
    return isLocal && !PROXY_HEADERS.some((name) => headers.has(name)) ? 'allowed' : 'hidden';
  }
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const given = bearerToken(headers.get('authorization')) ?? '';
  return timingSafeEqual(digest(given), digest(token)) ? 'allowed' : 'refused';
}
