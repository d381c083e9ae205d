import { type Context, Elysia } from 'elysia';
import type { Dashboard } from './dashboard.ts';
import { PATHS } from './routes.ts';

/** The dashboard's pages and files as routes of the service. Each answers every method: what it has, `routes.ts` says. */
export function dashboardRoutes(dashboard: Dashboard) {
  const app = new Elysia({ name: 'dashboard', prefix: '/dashboard' });
  // `none`: the dashboard reads its forms itself.
  const options = { parse: 'none' as const };
  for (const path of [...PATHS, '/assets/:file']) {
    app.all(path, ({ request, server }) => dashboard.handle(request, peerOf(request, server)), options);
    // Visitors may end an address with a slash.
    app.all(`${path}/`, ({ request, server }) => dashboard.handle(request, peerOf(request, server)), options);
  }
  return app.all(
    '/*',
    ({ request, server }) => dashboard.notFound(request, peerOf(request, server)),
    options,
  );
}

/** The address that the connection comes from; `null` if it is not known. */
function peerOf(request: Request, server: Context['server']): string | null {
  return server?.requestIP(request)?.address ?? null;
}
