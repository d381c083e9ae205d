import { betterAuth } from 'better-auth';
import { isAPIError } from 'better-auth/api';
import { Kysely } from 'kysely';
import type { Log } from '../observability/log.ts';
import type { Sql } from '../postgres/connect.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../units.ts';
import { PASSWORD } from './fields.ts';
import { kyselyDialect } from './kysely.ts';
import { preferredLanguage } from './language.ts';
import type { Mailer } from './mail.ts';
import { LONGEST_WINDOW_MS } from './remove-expired.ts';

/** Sign-ups from one address: each makes an account with an allowance of its own, so nobody gets them by the dozen. */
const SIGN_UPS = { window: LONGEST_WINDOW_MS / SECOND, max: 5 };
/** Guesses of a password from one address. */
const SIGN_INS = { window: (5 * MINUTE) / SECOND, max: 10 };
const MAILS = { window: LONGEST_WINDOW_MS / SECOND, max: 5 };
/** better-auth reads the client's address from here; only {@link Auth.call} sets it. */
const ADDRESS_HEADER = 'x-dashboard-client-address';

export interface User {
  id: string;
  name: string;
  email: string;
  emailVerified: boolean;
}

export interface Session {
  id: string;
  user: User;
}

/** Whoever asks, as better-auth needs to know them. */
export interface Asker {
  cookie: string | null;
  /** What rate limits are counted against. */
  address: string;
  acceptLanguage: string | null;
}

export interface AuthAnswer {
  ok: boolean;
  status: number;
  /** better-auth's word for what was wrong, e.g. `INVALID_EMAIL_OR_PASSWORD`. */
  code: string | null;
  /** `Set-Cookie` values to pass on. */
  cookies: string[];
  /** Seconds to wait; null unless the address has tried too often. */
  retryAfterS: number | null;
}

export type AuthEndpoint =
  | '/sign-up/email'
  | '/sign-in/email'
  | '/sign-out'
  | '/request-password-reset'
  | '/reset-password'
  | '/send-verification-email'
  | '/change-password';

export interface Auth {
  /** The session that a cookie opens, and cookies that prolong it; null when there is none. */
  session(cookie: string | null): Promise<{ session: Session | null; cookies: string[] }>;
  /**
   * One of better-auth's endpoints, with its rate limit and its check of where the request came from.
   * @throws when it could not do it, as with Postgres away
   */
  call(endpoint: AuthEndpoint, body: Record<string, unknown>, asker: Asker): Promise<AuthAnswer>;
  /**
   * @returns false for a token that is wrong or too old
   * @throws when it could not be checked, as with Postgres away
   */
  confirmEmail(token: string): Promise<boolean>;
  hashPassword(password: string): Promise<string>;
}

export interface AuthParts {
  sql: Sql;
  /** The dashboard's address, e.g. `https://example.com/dashboard`. */
  dashboardUrl: string;
  secret: string;
  signUp: 'open' | 'closed';
  /** null: no mail is sent. */
  mailer: Mailer | null;
  log: Log;
}

/**
 * Sessions, passwords, rate limits of sign-in and sign-up, and mail links: better-auth, on the service's own Postgres pool.
 * Its HTTP endpoints are not served; the dashboard's forms call them in the process.
 */
export function createAuth({ sql, dashboardUrl, secret, signUp, mailer, log }: AuthParts): Auth {
  const { origin, pathname } = new URL(dashboardUrl);
  const basePath = `${pathname}/auth`;
  const mail = (kind: 'confirm' | 'reset', to: string, token: string, request?: Request) =>
    mailer?.send({
      kind,
      to,
      url: `${dashboardUrl}/${kind}?token=${encodeURIComponent(token)}`,
      language: preferredLanguage(request?.headers.get('accept-language') ?? null),
    });

  const auth = betterAuth({
    appName: 'dashboard',
    baseURL: origin,
    basePath,
    secret,
    trustedOrigins: [origin],
    database: {
      db: new Kysely({ dialect: kyselyDialect(sql) }),
      type: 'postgres',
      transaction: true,
    },
    user: { modelName: 'dashboard_users' },
    account: { modelName: 'dashboard_credentials' },
    verification: { modelName: 'dashboard_verifications', storeIdentifier: 'hashed' },
    session: { modelName: 'dashboard_sessions', expiresIn: (7 * DAY) / SECOND, updateAge: DAY / SECOND },
    emailAndPassword: {
      enabled: true,
      disableSignUp: signUp === 'closed',
      minPasswordLength: PASSWORD.min,
      maxPasswordLength: PASSWORD.max,
      revokeSessionsOnPasswordReset: true,
      ...(mailer !== null && {
        sendResetPassword: async ({ user, token }, request) => mail('reset', user.email, token, request),
      }),
    },
    ...(mailer !== null && {
      emailVerification: {
        sendOnSignUp: true,
        expiresIn: HOUR / SECOND,
        sendVerificationEmail: async ({ user, token }, request) =>
          mail('confirm', user.email, token, request),
      },
    }),
    rateLimit: {
      enabled: true,
      storage: 'database',
      modelName: 'dashboard_rate_limits',
      window: MINUTE / SECOND,
      max: 60,
      customRules: {
        '/sign-up/email': SIGN_UPS,
        '/sign-in/email': SIGN_INS,
        '/change-password': SIGN_INS,
        '/reset-password': SIGN_INS,
        '/request-password-reset': MAILS,
        '/send-verification-email': MAILS,
      },
    },
    advanced: {
      cookiePrefix: 'dashboard',
      useSecureCookies: origin.startsWith('https:'),
      // Never sent to /api/v1; lax, so that a link in a mail finds who follows it signed in.
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: pathname },
      // Our migrations make the tables and the tests use them: a look at the schema that falls into an outage of Postgres
      // would be remembered as a failure.
      database: { validateSchema: false },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      // Said outright, because better-auth turns both off where NODE_ENV is `test`.
      disableCSRFCheck: false,
      disableOriginCheck: false,
    },
    logger: {
      level: 'error',
      // Its messages alone: what comes with them may hold an address of a person.
      log: (_level, message) => log.error({ auth: String(message) }, 'better-auth'),
    },
    // Otherwise it prints what Postgres says, with the row's values, to the console; thrown, it reaches the log without.
    onAPIError: { throw: true },
    telemetry: { enabled: false },
  });

  return {
    async session(cookie) {
      if (cookie === null) return { session: null, cookies: [] };
      const { headers, response } = await auth.api.getSession({
        headers: new Headers({ cookie }),
        returnHeaders: true,
      });
      const cookies = headers.getSetCookie();
      if (response === null) return { session: null, cookies };
      const { id, name, email, emailVerified } = response.user;
      return { session: { id: response.session.id, user: { id, name, email, emailVerified } }, cookies };
    },

    async call(endpoint, body, { cookie, address, acceptLanguage }) {
      const headers = new Headers({ 'Content-Type': 'application/json', Origin: origin });
      headers.set(ADDRESS_HEADER, address);
      if (cookie !== null) headers.set('Cookie', cookie);
      if (acceptLanguage !== null) headers.set('Accept-Language', acceptLanguage);
      const response = await auth.handler(
        new Request(origin + basePath + endpoint, { method: 'POST', headers, body: JSON.stringify(body) }),
      );
      const answer = (await response.json().catch(() => null)) as { code?: string } | null;
      if (response.status >= 500) throw new Error(`better-auth failed at ${endpoint}`);
      return {
        ok: response.ok,
        status: response.status,
        code: answer?.code ?? null,
        cookies: response.headers.getSetCookie(),
        retryAfterS: response.status === 429 ? Number(response.headers.get('x-retry-after') ?? 60) : null,
      };
    },

    async confirmEmail(token) {
      try {
        await auth.api.verifyEmail({ query: { token } });
        return true;
      } catch (error) {
        if (isAPIError(error) && error.statusCode < 500) return false;
        throw error;
      }
    },

    hashPassword: async (password) => (await auth.$context).password.hash(password),
  };
}
