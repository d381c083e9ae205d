import { recordEvent } from '../../accounts/events.ts';
import type { MemberContext, PageContext } from '../request/page-context.ts';
import { evenly } from './evenly.ts';
import { type Admission, admitGuess, admitMail, type Guess } from './limits.ts';
import { actorOf, recordSignIn } from './members.ts';
import { logSecurity, type SecurityEvent } from './security-log.ts';
import { findMember, keepSession, type Member } from './sessions.ts';

/** What became of a guess of a password. */
export type GuessOutcome =
  | { isRight: true; cookies: string[] }
  /** `retryAfterS`: null when it was wrong, otherwise the seconds to wait before the next. */
  | { isRight: false; retryAfterS: number | null };

/**
 * Signs in with a password. Failures count against the address and the email. A wrong email, a wrong password and an
 * unconfirmed email are answered alike; an unconfirmed one with its right password is sent its link again.
 */
export async function signInWith(
  context: PageContext,
  email: string,
  password: string,
): Promise<GuessOutcome> {
  const { tools, client } = context;
  const member = await findMember(tools.sql, email);
  const check = async () => {
    const answer = await tools.auth.call('/sign-in/email', { email, password }, client);
    if (answer.code === 'EMAIL_NOT_VERIFIED') await sendConfirmation(context, email);
    if (!answer.ok || answer.token === null || member === null) return null;
    if (!(await keepSession(tools.sql, answer.token, member))) return null;
    await recordSignIn(tools.sql, member.userId);
    return answer.cookies;
  };
  const guess = await admitGuess(tools.sql, client, email);
  const outcome = await evenly(context, guessed(guess, check), ({ isRight }) => tools.mails && !isRight);
  logOutcome(context, outcome, member, ['sign-in', 'sign-in failed', 'sign-in refused']);
  return outcome;
}

/** Changes a member's password and ends their other sessions. A wrong present password counts as a failed sign-in. */
export async function changePasswordWith(
  context: MemberContext,
  passwords: { present: string; next: string },
): Promise<GuessOutcome> {
  const { tools, client, user, account } = context;
  const check = async () => {
    const body = {
      currentPassword: passwords.present,
      newPassword: passwords.next,
      revokeOtherSessions: true,
    };
    const answer = await tools.auth.call('/change-password', body, client);
    if (!answer.ok) return null;
    await recordEvent(tools.sql, account.id, { kind: 'password-changed', actor: actorOf(user) });
    return answer.cookies;
  };
  const outcome = await guessed(await admitGuess(tools.sql, client, user.email), check);
  const member = { userId: user.id, accountId: account.id };
  logOutcome(context, outcome, member, [
    'password changed',
    'password change failed',
    'password change refused',
  ]);
  return outcome;
}

/** Checks the password of a member who is signed in. A wrong one counts as a failed sign-in. */
export async function checkPassword(context: MemberContext, password: string): Promise<GuessOutcome> {
  const { tools, client, user, account } = context;
  const check = async () => ((await tools.auth.isPassword(client.cookie, password)) ? [] : null);
  const outcome = await guessed(await admitGuess(tools.sql, client, user.email), check);
  if (!outcome.isRight) {
    const event = outcome.retryAfterS === null ? 'password check failed' : 'password check refused';
    logSecurity(context, event, { userId: user.id, accountId: account.id });
  }
  return outcome;
}

/** Sends the link that confirms an email, if its owner did not get too many mails. */
export async function sendConfirmation({ tools, client }: PageContext, email: string): Promise<Admission> {
  const admission = await admitMail(tools.sql, client, email);
  if (admission.retryAfterS === null) await tools.auth.call('/send-verification-email', { email }, client);
  return admission;
}

/** @param check the cookies of a right guess, null for a wrong one; when it throws, nothing was guessed */
async function guessed(guess: Guess, check: () => Promise<string[] | null>): Promise<GuessOutcome> {
  if (guess.retryAfterS !== null) return { isRight: false, retryAfterS: guess.retryAfterS };
  let cookies: string[] | null;
  try {
    cookies = await check();
  } catch (error) {
    await guess.takeBack().catch(() => {}); // what failed the check fails this, too
    throw error;
  }
  if (cookies === null) return { isRight: false, retryAfterS: null };
  await guess.takeBack();
  return { isRight: true, cookies };
}

function logOutcome(
  context: PageContext,
  outcome: GuessOutcome,
  member: Pick<Member, 'userId' | 'accountId'> | null,
  [right, wrong, refused]: [SecurityEvent, SecurityEvent, SecurityEvent],
): void {
  const failure = !outcome.isRight && outcome.retryAfterS !== null ? refused : wrong;
  logSecurity(context, outcome.isRight ? right : failure, member);
}
