import { createAccountReader } from '../accounts/reader.ts';
import { pathOf } from '../http/url.ts';
import { startInterval } from '../runtime/interval.ts';
import { HOUR } from '../units.ts';
import { ownAuthSecret } from './auth/auth-secret.ts';
import type { Mailer } from './auth/mail.ts';
import { removeExpired } from './auth/remove-expired.ts';
import { createPublicPages, type PublicPages } from './pages/public.ts';
import type { OpenApi } from './pages/reference.ts';
import { createClientAddress } from './request/client-address.ts';
import type { DashboardParts } from './request/page-context.ts';
import { createRequestHandler, type RequestHandler } from './request/request-handler.ts';
import { type Match, matchRoute } from './routes.ts';
import { loadAssets } from './ui/assets.ts';
import type { PageTools } from './ui/layout.ts';
import { createExampleQuery } from './usage/example-query.ts';
import { createUsageAlerts } from './usage/usage-alerts.ts';

export interface Dashboard {
  /**
   * Answers a request for a page or a file of the dashboard.
   *
   * @param peer the address that the connection came from
   */
  handle(request: Request, peer: string | null): Response | Promise<Response>;
  /** The page that answers any other path below `/dashboard`. */
  notFound(request: Request, peer: string | null): Response | Promise<Response>;
  /**
   * The pages of the service that need no sign-in. To be called once, before requests: the dashboard shows the same reference.
   * @param document the OpenAPI document
   */
  publicPages(document: Record<string, unknown>): PublicPages;
  /** Takes note of accounts that have made calls, for usage alerts. */
  callsCounted(accountIds: Set<string>): void;
  close(): Promise<void>;
}

/** The account dashboard: its pages and files, and the sign-in that opens them. */
export async function createDashboard(parts: DashboardParts): Promise<Dashboard> {
  const { config, publicUrl, sql, log, observer } = parts;
  const root = new URL(publicUrl).pathname.replace(/\/$/, '');
  const base = `${root}/dashboard`;
  const secret = config.authSecret ?? (await ownAuthSecret(config.dataDir, log));
  if (config.authSecret === null && config.databaseUrl !== null) {
    log.warn(
      "AUTH_SECRET is not set: sessions are this instance's alone; several instances need the same one",
    );
  }
  const assets = await loadAssets(base);
  const removals = startInterval(
    () => removeExpired(sql).catch((error) => log.warn({ err: error }, 'old sessions were not removed')),
    HOUR,
  );
  const mail = mailerOf(parts);
  const alerts =
    mail === null
      ? null
      : createUsageAlerts({ sql, mailer: mail.open, settingsUrl: `${publicUrl}/dashboard/settings`, log });
  const pageTools: PageTools = {
    config,
    publicUrl,
    root,
    base,
    assets: {
      style: assets.address('dashboard.css'),
      script: assets.address('dashboard.js'),
      icon: assets.address('mark.svg'),
      font: assets.address('geist.woff2'),
    },
  };
  let openApi: OpenApi | null = null;
  let opening: Promise<RequestHandler> | null = null;

  /**
   * With the first visitor: better-auth takes 200 ms and 30 MB to load, which an instance that only answers the API does
   * without.
   */
  async function open(): Promise<RequestHandler> {
    const [{ createAuth }, mailer] = await Promise.all([import('./auth/auth.ts'), mail?.open() ?? null]);
    const { signUp, trustProxy } = config;
    return createRequestHandler({
      clientAddress: createClientAddress(trustProxy, (peer) =>
        log.warn({ peer }, 'X-Forwarded-For is ignored: TRUST_PROXY does not name its sender'),
      ),
      tools: {
        ...parts,
        auth: createAuth({ sql, dashboardUrl: `${publicUrl}/dashboard`, secret, signUp, mailer, log }),
        readAccount: createAccountReader(sql),
        exampleQuery: createExampleQuery(sql),
        secret,
        ...pageTools,
        openApi: () => openApi!,
        mails: mailer !== null,
        mailer,
      },
    });
  }

  function handle(request: Request, peer: string | null): Response | Promise<Response> {
    const path = pathOf(request.url)
      .replace(/^\/dashboard/, '')
      .replace(/\/$/, '');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const asset =
      isRead && path.startsWith('/assets/')
        ? assets.serve(path.slice('/assets/'.length), request.headers.get('accept-encoding') ?? '')
        : null;
    if (asset !== null) return asset;

    return receive(request, peer, matchRoute(isRead ? 'GET' : request.method, path));
  }

  function receive(request: Request, peer: string | null, match: Match | null): Response | Promise<Response> {
    return observer.observe(request, match?.template ?? '/dashboard/unknown', async (trace) => {
      opening ??= open().catch((error) => {
        opening = null; // the next visitor tries again
        throw error;
      });
      return (await opening).handle(request, peer, match, trace);
    });
  }

  return {
    handle,
    notFound: (request, peer) => receive(request, peer, null),
    publicPages: (document) => {
      openApi = document as unknown as OpenApi;
      return createPublicPages(pageTools, openApi);
    },
    callsCounted: (accountIds) => alerts?.check(accountIds),
    close: async () => {
      await Promise.all([removals.stop(), alerts?.close()]);
      await mail?.close();
    },
  };
}

/** The mailer, opened when it is first needed: an instance that sends no mail does without its library. `null` without SMTP_URL. */
function mailerOf({ config, publicUrl, log }: DashboardParts) {
  const { smtpUrl, mailFrom } = config;
  if (smtpUrl === null) return null;
  let mailer: Promise<Mailer> | null = null;
  return {
    open: () => {
      mailer ??= import('./auth/mail.ts').then(({ createMailer }) =>
        createMailer(smtpUrl, mailFrom, publicUrl, log),
      );
      return mailer;
    },
    close: async () => (await mailer)?.close(),
  };
}
