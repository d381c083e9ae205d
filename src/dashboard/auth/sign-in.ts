import { recordEvent } from '../../accounts/events.ts';
import type { MemberVisit, Visit } from '../request/visit.ts';
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
export async function signInWith(visit: Visit, email: string, password: string): Promise<GuessOutcome> {
  const { tools, asker } = visit;
  const member = await findMember(tools.sql, email);
  const check = async () => {
    const answer = await tools.auth.call('/sign-in/email', { email, password }, asker);
    if (answer.code === 'EMAIL_NOT_VERIFIED') await sendConfirmation(visit, email);
    if (!answer.ok || answer.token === null || member === null) return null;
    if (!(await keepSession(tools.sql, answer.token, member))) return null;
    await recordSignIn(tools.sql, member.userId);
    return answer.cookies;
  };
  const guess = await admitGuess(tools.sql, asker, email);
  const outcome = await evenly(visit, guessed(guess, check), ({ isRight }) => tools.mails && !isRight);
  logOutcome(visit, outcome, member, ['sign-in', 'sign-in failed', 'sign-in refused']);
  return outcome;
}

/** Changes a member's password and ends their other sessions. A wrong present password counts as a failed sign-in. */
export async function changePasswordWith(
  visit: MemberVisit,
  passwords: { present: string; next: string },
): Promise<GuessOutcome> {
  const { tools, asker, user, account } = visit;
  const check = async () => {
    const body = {
      currentPassword: passwords.present,
      newPassword: passwords.next,
      revokeOtherSessions: true,
    };
    const answer = await tools.auth.call('/change-password', body, asker);
    if (!answer.ok) return null;
    await recordEvent(tools.sql, account.id, { kind: 'password-changed', actor: actorOf(user) });
    return answer.cookies;
  };
  const outcome = await guessed(await admitGuess(tools.sql, asker, user.email), check);
  const member = { userId: user.id, accountId: account.id };
  logOutcome(visit, outcome, member, [
    'password changed',
    'password change failed',
    'password change refused',
  ]);
  return outcome;
}

/** Checks the password of a member who is signed in. A wrong one counts as a failed sign-in. */
export async function checkPassword(visit: MemberVisit, password: string): Promise<GuessOutcome> {
  const { tools, asker, user, account } = visit;
  const check = async () => ((await tools.auth.isPassword(asker.cookie, password)) ? [] : null);
  const outcome = await guessed(await admitGuess(tools.sql, asker, user.email), check);
  if (!outcome.isRight) {
    const event = outcome.retryAfterS === null ? 'password check failed' : 'password check refused';
    logSecurity(visit, event, { userId: user.id, accountId: account.id });
  }
  return outcome;
}

/** Sends the link that confirms an email, if its owner did not get too many mails. */
export async function sendConfirmation({ tools, asker }: Visit, email: string): Promise<Admission> {
  const admission = await admitMail(tools.sql, asker, email);
  if (admission.retryAfterS === null) await tools.auth.call('/send-verification-email', { email }, asker);
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
  visit: Visit,
  outcome: GuessOutcome,
  member: Pick<Member, 'userId' | 'accountId'> | null,
  [right, wrong, refused]: [SecurityEvent, SecurityEvent, SecurityEvent],
): void {
  const failure = !outcome.isRight && outcome.retryAfterS !== null ? refused : wrong;
  logSecurity(visit, outcome.isRight ? right : failure, member);
}
