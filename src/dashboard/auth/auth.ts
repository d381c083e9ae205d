import { AsyncLocalStorage } from 'node:async_hooks';
import { betterAuth } from 'better-auth';
import { isAPIError } from 'better-auth/api';
import { verifyJWT } from 'better-auth/crypto';
import { Kysely } from 'kysely';
import type { Log } from '../../observability/log.ts';
import type { Sql } from '../../postgres/connect.ts';
import { HOUR, SECOND } from '../../units.ts';
import type { ClientAddress } from '../request/client-address.ts';
import { preferredLanguage } from '../ui/language.ts';
import { kyselyDialect } from './kysely.ts';
import type { LinkMail, Mailer } from './mail.ts';
import { PASSWORD } from './passwords.ts';
import { SESSION_IDLE_MS, SESSION_MAX_MS, SESSION_UPDATE_MS } from './sessions.ts';

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

/** The browser that a request comes from. */
export interface AuthClient extends ClientAddress {
  cookie: string | null;
  acceptLanguage: string | null;
  /** Cut to a length that a list of sessions can show. */
  userAgent: string | null;
}

interface AuthAnswer {
  ok: boolean;
  status: number;
  /** better-auth's word for what was wrong, e.g. `INVALID_EMAIL_OR_PASSWORD`. */
  code: string | null;
  /** `Set-Cookie` values to pass on. */
  cookies: string[];
  /** Of the session that was opened. */
  token: string | null;
  /** The email of the user whose password was reset. */
  resetOf: string | null;
}

type AuthEndpoint =
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
   * One of better-auth's endpoints, with its check of where the request came from. Its rate limits are off: limits.ts has
   * ours, which don't count successes.
   * @throws when it could not do it, as with Postgres away
   */
  call(endpoint: AuthEndpoint, body: Record<string, unknown>, client: AuthClient): Promise<AuthAnswer>;
  /**
   * @returns false for a token that is wrong or too old
   * @throws when it could not be checked, as with Postgres away
   */
  confirmEmail(token: string): Promise<boolean>;
  /** Whether a link of this kind would work now. It is not used up. @throws when it could not be checked */
  isLinkAlive(kind: 'reset' | 'confirm', token: string): Promise<boolean>;
  hashPassword(password: string): Promise<string>;
  /** Whether it is the password of the user whose session the cookie opens. @throws when it could not be checked */
  isPassword(cookie: string | null, password: string): Promise<boolean>;
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
 * Sessions, passwords and mail links: better-auth, on the service's own Postgres pool.
 * Its HTTP endpoints are not served; the dashboard's forms call them in the process.
 */
export function createAuth({ sql, dashboardUrl, secret, signUp, mailer, log }: AuthParts): Auth {
  const { origin, pathname } = new URL(dashboardUrl);
  const basePath = `${pathname}/auth`;
  const mail = (kind: LinkMail['kind'], to: string, path: string, request?: Request) =>
    mailer?.send({
      kind,
      to,
      url: dashboardUrl + path,
      language: preferredLanguage(request?.headers.get('accept-language') ?? null),
    });

  /** What better-auth tells of a call beside its answer. */
  const calls = new AsyncLocalStorage<{ resetOf: string | null }>();

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
    session: {
      modelName: 'dashboard_sessions',
      expiresIn: SESSION_IDLE_MS / SECOND,
      updateAge: SESSION_UPDATE_MS / SECOND,
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: signUp === 'closed',
      minPasswordLength: PASSWORD.min,
      maxPasswordLength: PASSWORD.max,
      revokeSessionsOnPasswordReset: true,
      onPasswordReset: async ({ user }) =>
        void Object.assign(calls.getStore() ?? {}, { resetOf: user.email }),
      ...(mailer !== null && {
        // With mail, a sign-up answers alike whether or not the email has an account; its owner reads which.
        requireEmailVerification: true,
        onExistingUserSignUp: async ({ user }, request) => mail('exists', user.email, '/forgot', request),
        sendResetPassword: async ({ user, token }, request) =>
          mail('reset', user.email, `/reset?token=${token}`, request),
      }),
    },
    ...(mailer !== null && {
      emailVerification: {
        sendOnSignUp: true,
        expiresIn: HOUR / SECOND,
        sendVerificationEmail: async ({ user, token }, request) =>
          mail('confirm', user.email, `/confirm?token=${token}`, request),
      },
    }),
    rateLimit: { enabled: false },
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
      const isOver = response.session.createdAt.getTime() + SESSION_MAX_MS <= Date.now();
      if (isOver) return { session: null, cookies: [] };
      const { id, name, email, emailVerified } = response.user;
      return { session: { id: response.session.id, user: { id, name, email, emailVerified } }, cookies };
    },

    async call(endpoint, body, { cookie, address, acceptLanguage, userAgent }) {
      const headers = new Headers({ 'Content-Type': 'application/json', Origin: origin });
      headers.set(ADDRESS_HEADER, address);
      if (cookie !== null) headers.set('Cookie', cookie);
      if (userAgent !== null) headers.set('User-Agent', userAgent);
      if (acceptLanguage !== null) headers.set('Accept-Language', acceptLanguage);
      const request = new Request(origin + basePath + endpoint, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      const told = { resetOf: null };
      const response = await calls.run(told, () => auth.handler(request));
      const answer = (await response.json().catch(() => null)) as { code?: string; token?: string } | null;
      if (response.status >= 500) throw new Error(`better-auth failed at ${endpoint}`);
      return {
        ok: response.ok,
        status: response.status,
        code: answer?.code ?? null,
        cookies: response.headers.getSetCookie(),
        token: answer?.token ?? null,
        resetOf: told.resetOf,
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

    async isPassword(cookie, password) {
      try {
        await auth.api.verifyPassword({ body: { password }, headers: new Headers({ cookie: cookie ?? '' }) });
        return true;
      } catch (error) {
        if (isAPIError(error) && error.statusCode < 500) return false;
        throw error;
      }
    },

    async isLinkAlive(kind, token) {
      if (kind === 'confirm') return (await verifyJWT(token, secret)) !== null;
      const { internalAdapter } = await auth.$context;
      const link = await internalAdapter.findVerificationValue(`reset-password:${token}`);
      return link !== null && link.expiresAt.getTime() > Date.now();
    },

    hashPassword: async (password) => (await auth.$context).password.hash(password),
  };
}
