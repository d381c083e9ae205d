import type { Sql } from '../../platform/postgres/connect.ts';
import { SECOND } from '../../platform/units.ts';
import type { Client, MemberContext, PageContext } from '../context.ts';
import { type Refusal, refusalOf, tooMany } from '../request/forms.ts';
import { PASSWORD } from '../request/passwords.ts';
import { readCode } from './codes.ts';
import { checkGuess, countAttempt, type GuessOutcome, isFirstOfLock, isFirstUse, mailsOf } from './limits.ts';
import { findReader, MAILS, tell } from './mail-text.ts';
import { logOfMember, logSecurity, recordRepeatable } from './members.ts';
import { findOwner, keepSession } from './sessions.ts';

/**
 * Signs in with a password, or up to the code of a second factor. Guesses count against the email, failed ones against the
 * address too. A wrong email, a wrong password and an unconfirmed email get the same answer. An unconfirmed email with its right
 * password gets a link.
 */
export async function signInWith(
  context: PageContext,
  email: string,
  password: string,
): Promise<GuessOutcome> {
  const { tools, client } = context;
  const member = await findOwner(tools.sql, { email });
  let done = 'sign-in';
  const check = async () => {
    const answer = await tools.auth.call('/sign-in/email', { email, password }, client);
    if (answer.code === 'EMAIL_NOT_VERIFIED' && (await countAttempt(tools.sql, ...mailsOf(client))) === null)
      await tools.auth.call('/request-password-reset', { email }, client);
    if (!answer.ok || member === null) return null;
    if (!(await keepSession(tools.sql, answer.token, member))) return null;
    if (answer.token === null) done = 'sign-in code asked';
    return answer.cookies;
  };
  const guessed = checkGuess(context, { id: member?.userId ?? null, email }, check);
  const outcome = await withConstantTime(
    context,
    guessed,
    ({ isRight }) => tools.mailer !== null && !isRight,
  );
  logSecurity(context, outcome.isRight ? done : `sign-in ${failedOrRefused(outcome.retryAfterS)}`, member);
  return outcome;
}

/** Keeps a change of password in the account's history and in the log, and tells its user. */
export async function passwordChanged(
  context: PageContext,
  event: 'password changed' | 'password reset',
  { userId, accountId, email }: { userId: string; accountId: string | null; email: string },
): Promise<void> {
  logSecurity(context, event, { userId, accountId });
  if (accountId !== null)
    await recordRepeatable(context.tools.sql, accountId, { id: userId }, 'password-changed');
  tell(context, email, 'password-changed', '/forgot');
}

/** better-auth's codes of a sign-in that awaits no code any more: it is too old, ended by a change of its user, or had five wrong ones. */
const ENDED = ['INVALID_TWO_FACTOR_COOKIE', 'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE'];

/** Completes a sign-in by a code. @returns `null` if none is awaited any more, so that the password is asked again */
export async function signInWithCode(context: PageContext, text: string): Promise<GuessOutcome | null> {
  const { tools, client } = context;
  const awaited = await tools.auth.awaitedCode(client.cookie);
  if (awaited === null) return null;
  const { member } = awaited;
  const failed = (retryAfterS: number | null) => {
    logSecurity(context, `sign-in code ${failedOrRefused(retryAfterS)}`, member);
    return { isRight: false, retryAfterS } as const;
  };
  const answer = await giveCode(context, member.userId, text, { ...client, cookie: awaited.cookie });
  if (answer === null) return failed(null);
  // Of two backup codes at once better-auth takes one. The other sign-in begins again.
  if (answer.status === 409) return null;
  if (!answer.ok || answer.token === null) {
    if (answer.code !== null && ENDED.includes(answer.code)) return null;
    const lockEnd = await codeLockEnd(tools.sql, member);
    if (answer.code === 'ACCOUNT_TEMPORARILY_LOCKED') {
      // A lock that has ended meanwhile leaves no time to wait.
      return failed(lockEnd ? (lockEnd.getTime() - Date.now()) / SECOND : 0);
    }
    // This code was checked, so it is the one that has locked them, or one of those that were checked at once.
    if (lockEnd && (await isFirstOfLock(tools.sql, member.userId, lockEnd))) {
      const mail = MAILS['code-lock']({ url: `${tools.publicUrl}/dashboard/forgot`, expires: lockEnd });
      void tools.mailer?.send(mail, findReader(tools.sql, member.email, client.language));
    }
    return failed(null);
  }
  if (!(await keepSession(tools.sql, answer.token, member, true))) return null;
  logSecurity(context, 'sign-in', member);
  return { isRight: true, cookies: answer.cookies };
}

/**
 * Gives better-auth a code of the app, or a backup code, with the cookie of a session or of a sign-in that awaits it.
 * @returns `null` for a code of the app that was given before
 */
export async function giveCode({ tools }: PageContext, userId: string, text: string, client: Client) {
  const { kind, code } = readCode(text);
  if (kind === 'backup') return tools.auth.call('/two-factor/verify-backup-code', { code }, client);
  // better-auth removes a used backup code, but takes an app's code again while it is shown.
  if (!(await isFirstUse(tools.sql, userId, code))) return null;
  return tools.auth.call('/two-factor/verify-totp', { code }, client);
}

const failedOrRefused = (retryAfterS: number | null) => (retryAfterS === null ? 'failed' : 'refused');

/** The end of the lock of a user's codes (0004_dashboard.sql); `undefined` without one. */
async function codeLockEnd(sql: Sql, { userId }: { userId: string }): Promise<Date | undefined> {
  const [lock] = await sql<{ until: Date }[]>`
    SELECT "lockedUntil" AS until FROM dashboard_second_factors
    WHERE "userId" = ${userId} AND "lockedUntil" > now()`;
  return lock?.until;
}

/** Longer than a sign-up or a sign-in takes: a scrypt of 60 to 100 ms and a few statements. */
const CONSTANT_MS = 0.4 * SECOND;

/**
 * Takes the same time whether or not an email has an account, so that the answer's time does not tell.
 * @param tells whether the time of this outcome could tell; a fault and any other outcome are answered at once
 */
export async function withConstantTime<T>(
  context: PageContext,
  work: Promise<T>,
  tells: (outcome: T) => boolean = () => true,
): Promise<T> {
  const pause = Bun.sleep(CONSTANT_MS);
  const outcome = await work;
  if (!tells(outcome)) return outcome;
  context.leave();
  await pause;
  return outcome;
}

export function sentPassword({ sent }: PageContext): string {
  return sent('present').slice(0, PASSWORD.max);
}

/**
 * Checks the sent password of the field `presentPassword`, which counts as a guess.
 * @returns `null` if it is right
 */
export async function presentRefusal(context: MemberContext): Promise<Refusal | null> {
  const { tools, client, user, messages } = context;
  const outcome = await checkGuess(context, user, async () =>
    (await tools.auth.isPassword(client.cookie, sentPassword(context))) ? [] : null,
  );
  if (outcome.isRight) return null;
  logOfMember(context, `password check ${failedOrRefused(outcome.retryAfterS)}`);
  return tooMany(context, outcome.retryAfterS) ?? refusalOf({ present: messages.wrongPassword });
}
