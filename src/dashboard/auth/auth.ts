import { betterAuth } from 'better-auth';
import { isAPIError } from 'better-auth/api';
import { twoFactor } from 'better-auth/plugins/two-factor';
import { DAY, MINUTE, SECOND } from '../../platform/units.ts';
import type { AuthParts, Client, Session } from '../context.ts';
import { MESSAGES } from '../messages.ts';
import { readCookie } from '../request/cookies.ts';
import { PASSWORD } from '../request/passwords.ts';
import { preferredLanguage } from '../ui/language.ts';
import { CODE_WAIT_MS, makeBackupCodes } from './codes.ts';
import { PoolKysely } from './kysely.ts';
import { countAttempt, mailsTo } from './limits.ts';
import { findReader, MAILS } from './mail-text.ts';
import { type EmailOwner, findOwner, SESSION_MAX_MS } from './sessions.ts';

/** A session ends this long after its last request. */
const SESSION_IDLE_MS = 7 * DAY;

/** The time of a session's last use is written this often. */
const SESSION_UPDATE_MS = 10 * MINUTE;

/** After ten wrong codes in a row a user's codes are refused this long, and each further time twice as long (0004_dashboard.sql). */
const CODE_LOCK_MS = 15 * MINUTE;

/** better-auth reads the client's address from here; only {@link Auth.call} sets it. */
const ADDRESS_HEADER = 'x-dashboard-client-address';

export type Auth = ReturnType<typeof createAuth>;

/**
 * Sessions, passwords and mail links by better-auth, on the dashboard's Postgres pool. Its HTTP endpoints are not served; the
 * forms call them in the process.
 */
export function createAuth({ sql, publicUrl, secret, config, mailer, log }: AuthParts) {
  const dashboardUrl = `${publicUrl}/dashboard`;
  const { origin, pathname } = new URL(dashboardUrl);
  const basePath = `${pathname}/auth`;
  const isSecure = origin.startsWith('https:');
  const cookies = cookieNames(isSecure);

  const auth = betterAuth({
    appName: 'dashboard',
    baseURL: origin,
    basePath,
    secret,
    trustedOrigins: [origin],
    database: { db: new PoolKysely(sql), type: 'postgres', transaction: true },
    user: { modelName: 'dashboard_users' },
    account: { modelName: 'dashboard_credentials' },
    verification: { modelName: 'dashboard_verifications', storeIdentifier: 'hashed' },
    session: {
      modelName: 'dashboard_sessions',
      expiresIn: SESSION_IDLE_MS / SECOND,
      updateAge: SESSION_UPDATE_MS / SECOND,
      // A user may list their sessions whenever they signed in.
      freshAge: 0,
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: config.signUp === 'closed',
      minPasswordLength: PASSWORD.min,
      maxPasswordLength: PASSWORD.max,
      // The answer to a sign-up does not tell whether the email has an account; the mail to its owner does.
      requireEmailVerification: mailer !== null,
      // Unless the email has had all its mails of this purpose: the answer is the same, because another one tells of a user. In the
      // background, because better-auth may call it in a transaction, whose pool is small.
      async sendResetPassword({ user: { email, emailVerified }, token }, request) {
        const kind = emailVerified ? 'reset' : 'confirm';
        const language = preferredLanguage(request?.headers.get('accept-language') ?? null);
        const readerWithin = async () =>
          (await countAttempt(sql, mailsTo(email, kind))) === null ? findReader(sql, email, language) : null;
        void mailer?.send(MAILS[kind]({ url: `${dashboardUrl}/reset?token=${token}` }), readerWithin());
      },
      revokeSessionsOnPasswordReset: true,
    },
    plugins: [
      twoFactor({
        issuer: MESSAGES.en.brand,
        twoFactorTable: 'dashboard_second_factors',
        twoFactorCookieMaxAge: CODE_WAIT_MS / SECOND,
        accountLockout: { enabled: true, maxFailedAttempts: 10, durationSeconds: CODE_LOCK_MS / SECOND },
        // Its own ones are refused in another case, and have letters that look alike.
        backupCodeOptions: { customBackupCodesGenerate: makeBackupCodes },
      }),
    ],
    // It counts successes, too: limits.ts has ours.
    rateLimit: { enabled: false },
    advanced: {
      cookiePrefix: 'dashboard',
      // Otherwise better-auth changes the names.
      useSecureCookies: false,
      cookies: { session_token: { name: cookies.session }, two_factor: { name: cookies.code } },
      // The path keeps it from /api/v1. `lax` sends it with a link that is followed from a mail.
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: pathname, secure: isSecure },
      // better-auth would remember a check of the schema that failed in an outage of Postgres. Our migrations make the tables.
      database: { validateSchema: false },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      // Without these, better-auth turns both checks off if NODE_ENV is `test`.
      disableCSRFCheck: false,
      disableOriginCheck: false,
    },
    logger: {
      level: 'error',
      // Its messages alone, because its details may hold a person's email.
      log: (_level, message) => log.error({ auth: String(message) }, 'better-auth'),
    },
    // Otherwise it prints Postgres's error with the row's values to the console. Our log leaves the values out.
    onAPIError: { throw: true },
    telemetry: { enabled: false },
  });

  function headersOf({ cookie, address, language, userAgent }: Client): Headers {
    const headers = new Headers({
      Origin: origin,
      'Accept-Language': language,
      [ADDRESS_HEADER]: address,
    });
    if (cookie !== null) headers.set('Cookie', cookie);
    if (userAgent !== null) headers.set('User-Agent', userAgent);
    return headers;
  }

  /**
   * Calls one of better-auth's endpoints, such as `/sign-in/email`, with its check of the request's origin.
   *
   * @returns `code` names the fault (`INVALID_EMAIL_OR_PASSWORD`). `cookies` are `Set-Cookie` values to pass on. `token` is
   * that of the new session; `null` means that there is none, because a code is awaited
   * @throws when the call could not be done, as with Postgres away
   */
  async function call(endpoint: string, body: Record<string, unknown>, client: Client) {
    const headers = headersOf(client);
    headers.set('Content-Type', 'application/json');
    const response = await auth.handler(
      new Request(origin + basePath + endpoint, { method: 'POST', headers, body: JSON.stringify(body) }),
    );
    if (response.status >= 500) throw new Error(`better-auth failed at ${endpoint}`);
    const answer = (await response.json().catch(() => null)) as Answer | null;
    return {
      ok: response.ok,
      status: response.status,
      code: answer?.code ?? null,
      cookies: response.headers.getSetCookie(),
      token: answer?.token ?? null,
      totpUri: answer?.totpURI ?? '',
      backupCodes: answer?.backupCodes ?? [],
    };
  }

  /**
   * The user for whom better-auth 1.7 has stored a link or a sign-in, while it is valid. If an update changes its names,
   * test/dashboard/sign-in/links.test.ts fails.
   */
  async function ownerOf(identifier: string): Promise<EmailOwner | null> {
    const { internalAdapter } = await auth.$context;
    const stored = identifier && (await internalAdapter.findVerificationValue(identifier));
    return stored && stored.expiresAt > new Date() ? findOwner(sql, { userId: stored.value }) : null;
  }

  return {
    /** The session that a cookie opens, `null` if it opens none, and cookies that prolong it. */
    async session(cookie: string | null): Promise<{ session: Session | null; cookies: string[] }> {
      if (cookie === null) return { session: null, cookies: [] };
      const { headers, response } = await auth.api.getSession({
        headers: new Headers({ cookie }),
        returnHeaders: true,
      });
      const cookies = headers.getSetCookie();
      if (response === null) return { session: null, cookies };
      const { session, user } = response;
      // A user from before mails could be sent signs in again, which has them confirm their email.
      const isUnconfirmed = mailer !== null && !user.emailVerified;
      if (isOver(session) || isUnconfirmed) return { session: null, cookies: [] };
      return {
        session: { id: session.id, user: { ...user, hasSecondFactor: user.twoFactorEnabled === true } },
        cookies,
      };
    },

    call,

    /** The cookies that {@link Client.cookie} may hold. */
    cookieNames: Object.values(cookies),

    /**
     * All sessions of the user whose session the cookie opens, the latest used first; none if it has ended meanwhile. `updatedAt` is exact
     * to 10 minutes.
     */
    async sessions(cookie: string | null) {
      const listing = auth.api.listSessions({ headers: new Headers({ cookie: cookie ?? '' }) });
      const sessions = await listing.catch((error) => {
        if (isAPIError(error) && error.status === 'UNAUTHORIZED') return [];
        throw error;
      });
      return sessions
        .filter((session) => !isOver(session))
        .sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime());
    },

    /** Whether it is the password of the user whose session the cookie opens. */
    async isPassword(cookie: string | null, password: string): Promise<boolean> {
      const headers = new Headers({ cookie: cookie ?? '' });
      const checking = auth.api.verifyPassword({ body: { password }, headers });
      const refused = (error: unknown) => {
        if (isAPIError(error) && error.statusCode < 500) return null;
        throw error;
      };
      return (await checking.catch(refused)) !== null;
    },

    /** The user that a link to a new password was sent to, which stays unused; `null` means that it is wrong, used or too old. */
    linkOwner: (token: string): Promise<EmailOwner | null> => ownerOf(`reset-password:${token}`),

    /**
     * The user whose sign-in awaits the code of a second factor, and better-auth's cookie of it, which the code needs alone. `null`
     * means that none does. A new password ends it (0004_dashboard.sql).
     */
    async awaitedCode(cookie: string | null): Promise<{ member: EmailOwner; cookie: string } | null> {
      const value = readCookie(cookie, cookies.code);
      // better-auth checks the signature behind it with the code.
      const member = await ownerOf(value.split('.')[0]!);
      return member && { member, cookie: `${cookies.code}=${value}` };
    },

    /** How many backup codes a user with a second factor has left. */
    async backupCodesLeft(userId: string): Promise<number> {
      const { backupCodes } = await auth.api.viewBackupCodes({ body: { userId } });
      return backupCodes.length;
    },

    hashPassword: async (password: string) => (await auth.$context).password.hash(password),
  };
}

/** The cookies of a session, and of a sign-in that awaits a code. Browsers take `__Secure-` over TLS alone. */
function cookieNames(isSecure: boolean) {
  const prefix = isSecure ? '__Secure-dashboard' : 'dashboard';
  return {
    session: `${prefix}.session_token`,
    code: `${prefix}.two_factor`,
  };
}

const isOver = ({ createdAt }: { createdAt: Date }) => createdAt.getTime() + SESSION_MAX_MS <= Date.now();

/** The members of better-auth's answers that are used. */
interface Answer {
  code?: string;
  token?: string;
  totpURI?: string;
  backupCodes?: string[];
}
