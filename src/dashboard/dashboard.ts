import { Elysia } from 'elysia';
import { createCompanyNames } from '../companies/search/company-names.ts';
import { pathBehind } from '../http/url.ts';
import { createAccountReader } from '../metering/accounts/reader.ts';
import { createGate } from '../platform/runtime/gate.ts';
import { startInterval } from '../platform/runtime/interval.ts';
import { HOUR, MINUTE, SECOND } from '../platform/units.ts';
import { removeExpired } from './account-data/wings.ts';
import { ownAuthSecret } from './auth/auth-secret.ts';
import { connectionRoutes } from './connections/oauth-endpoints.ts';
import type { DashboardParts, LayoutTools } from './context.ts';
import { sendAllDueMails } from './mails/due-mails.ts';
import { pageNotices } from './notices.ts';
import { createPublicPages } from './reference/public.ts';
import { createClientAddress } from './request/client-address.ts';
import { createBounds } from './request/request-limit.ts';
import { createRequestHandler } from './request-handler.ts';
import { ROUTES } from './routes.ts';
import { loadAssets } from './ui/assets.ts';

const ASSETS = '/assets/:file';
/** The path for `handle` of an address that is no page. */
export const NO_PAGE = '/unknown';
/**
 * Each download holds a connection to Postgres until its reader has all of it. An account has one place. A request waits for longer
 * than a slow reader keeps a place that another account wants (usage/download.ts).
 */
const DOWNLOADS = { places: 2, placesOfOne: 1, maxWaiting: 100, maxWaitMs: 15 * SECOND };

/** Requests a minute of a network for the reference, which has 140 KB, and the pages of problems. */
const PUBLIC_PER_MINUTE = 600;

export type Dashboard = Awaited<ReturnType<typeof createDashboard>>;

/** The account dashboard: its pages, its files and its sign-in. */
export async function createDashboard(parts: DashboardParts) {
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
    () => removeExpired(sql),
    HOUR,
    (error) => log.warn({ err: error }, 'old sessions were not removed'),
  );
  const { smtpUrl, mailFrom } = config;
  const mailer =
    smtpUrl === null
      ? null
      : (await import('./auth/mail.ts')).createMailer(smtpUrl, mailFrom, publicUrl, log);
  const lastRun = new Map();
  const dueMails =
    mailer &&
    startInterval(
      () =>
        sendAllDueMails({ sql, mailer, publicUrl, buyUrl: config.buyUrl, contact: config.contact, lastRun }),
      MINUTE,
      (error) => log.warn({ err: error }, 'alerts were not sent'),
    );
  const pageTools: LayoutTools = { config, publicUrl, root, base, assets };
  const addressOf = createClientAddress(config.trustProxy);
  const boundsOf = createBounds(parts.rateLimiter);
  let opening: ReturnType<typeof open> | null = null;

  /** Runs at the first page. better-auth takes 200 ms and 30 MB to load, which an instance without pages saves. */
  async function open() {
    const { createAuth } = await import('./auth/auth.ts');
    return createRequestHandler({
      ...parts,
      ...pageTools,
      auth: createAuth({ ...parts, secret, mailer }),
      readAccount: createAccountReader(sql),
      companyNames: createCompanyNames(sql),
      secret,
      notices: pageNotices,
      mailer,
      downloads: createGate(DOWNLOADS),
    });
  }

  return {
    /**
     * Answers a request for a page or a file.
     *
     * @param peer the address that the connection came from; `null` if it is not known
     * @param path the path of the route that matched, below the dashboard
     */
    handle(request: Request, peer: string | null, path: string): Response | Promise<Response> {
      if (path === ASSETS && ['GET', 'HEAD'].includes(request.method)) {
        const name = pathBehind('/assets/', request.url);
        const asset = assets.serve(name, request.headers.get('accept-encoding') ?? '');
        if (asset !== null) return asset;
      }
      const template = `/dashboard${ROUTES[path] === undefined ? '/unknown' : path}`;
      return observer.observe(request, template, async (trace) => {
        // All requests share one handler, because its bounds are those of the process. If it fails to open, the next request tries again.
        opening ??= open().catch((error) => {
          opening = null;
          throw error;
        });
        return (await opening)(request, peer, path, trace);
      });
    },
    /** The pages of the service that need no sign-in. */
    publicPages: {
      ...createPublicPages(pageTools, parts.openApi),
      /** Takes a token of the client's network for a public page. @returns the seconds to wait for one; 0 if there was one */
      async waitS(request: Request, peer: string | null): Promise<number> {
        const { address } = addressOf(peer, request.headers.get('x-forwarded-for'));
        const bounds = boundsOf('public', address, PUBLIC_PER_MINUTE);
        return bounds.pausedS() || bounds.take();
      },
    },
    /** The endpoints that agents' clients call themselves. */
    connectionRoutes: connectionRoutes(parts),
    async close() {
      await Promise.all([removals.stop(), dueMails?.stop()]);
      await mailer?.close();
    },
  };
}

/** The dashboard's pages and files as routes of the service. Each answers every method. */
export function dashboardRoutes(dashboard: Dashboard) {
  const app = new Elysia({ name: 'dashboard', prefix: '/dashboard' });
  const add = (address: string, path: string) =>
    app.all(
      address,
      ({ request, server }) => dashboard.handle(request, server?.requestIP(request)?.address ?? null, path),
      { parse: 'none' }, // the dashboard reads its forms itself
    );
  for (const path of [...Object.keys(ROUTES), ASSETS]) {
    add(path, path);
    add(`${path}/`, path); // readers may end an address with a slash
  }
  return app;
}
