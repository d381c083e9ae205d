import { createHash } from 'node:crypto';
import type { Sql } from '../../postgres/connect.ts';
import { HOUR, MINUTE } from '../../units.ts';
import { type ClientAddress, networkOf } from '../request/client-address.ts';
import { type Count, type Counter, countAttempt, forgetAttempts, takeBackAttempt } from './attempts.ts';

/** Each sign-up makes an account with its own allowance, so sign-ups of one visitor are few. */
const SIGN_UPS = { max: 5, windowMs: HOUR };
/** Failed guesses of passwords from one address. */
const GUESSES_OF_ADDRESS = { max: 10, windowMs: 5 * MINUTE };
/** Failed guesses of one user's password, from anywhere (ASVS 2.2.1 wants at most 100). */
const GUESSES_OF_EMAIL = { max: 20, windowMs: HOUR };
const MAILS_OF_ADDRESS = { max: 5, windowMs: HOUR };
/** Mails to one person. */
const MAILS_TO_EMAIL = { max: 5, windowMs: HOUR };

/** Whether an attempt may go on. */
export interface Admission {
  /** Seconds to wait; null when it may go on. */
  retryAfterS: number | null;
}

/**
 * Counts a sign-up.
 * @param mails whether it sends a mail
 */
export async function admitSignUp(
  sql: Sql,
  address: ClientAddress,
  email: string,
  mails: boolean,
): Promise<Admission> {
  const counters = [{ key: `sign-up ${networkOf(address.address)}`, ...SIGN_UPS }];
  if (mails) counters.push(mailsTo(email));
  return refusalOf(counters, await countAttempt(sql, counters));
}

/** Counts mails that a visitor asks for, one to each email, whether or not there are users with them. */
export async function admitMail(sql: Sql, address: ClientAddress, ...emails: string[]): Promise<Admission> {
  const counters = emails.map(mailsTo);
  if (!address.isShared) counters.push({ key: `mail ${networkOf(address.address)}`, ...MAILS_OF_ADDRESS });
  return refusalOf(counters, await countAttempt(sql, counters));
}

/**
 * Counts a guess of a password until {@link takeBack} says that it was right. An address that many visitors may share, such
 * as a proxy's that TRUST_PROXY doesn't name, is refused only for emails that failed within the hour: otherwise ten wrong
 * passwords from anywhere would keep everybody out.
 */
export async function admitGuess(sql: Sql, address: ClientAddress, email: string): Promise<Guess> {
  const byEmail = { key: guessesOf(email), ...GUESSES_OF_EMAIL };
  const byAddress = { key: `guess ${networkOf(address.address)}`, ...GUESSES_OF_ADDRESS };
  const counters = [byEmail, byAddress];
  const [ofEmail, ofAddress] = (await countAttempt(sql, counters)) as [Count, Count];
  const takeBack = () => takeBackAttempt(sql, counters);
  const emailIsOver = ofEmail.attempts > byEmail.max;
  const addressIsOver = ofAddress.attempts > byAddress.max && (!address.isShared || ofEmail.attempts > 1);
  if (!emailIsOver && !addressIsOver) return { retryAfterS: null, takeBack };
  await takeBack(); // a refused attempt has guessed nothing
  return { retryAfterS: emailIsOver ? ofEmail.leftS : ofAddress.leftS, takeBack: async () => {} };
}

export interface Guess extends Admission {
  /** The guess was right, or could not be checked: it doesn't count. */
  takeBack(): Promise<void>;
}

/** Whoever has proven that an email is theirs may sign in, however many others have guessed its password. */
export async function forgetGuesses(sql: Sql, email: string): Promise<void> {
  await forgetAttempts(sql, guessesOf(email));
}

const guessesOf = (email: string) => `guess ${hashOf(email)}`;
const mailsTo = (email: string) => ({ key: `mail ${hashOf(email)}`, ...MAILS_TO_EMAIL });

function hashOf(email: string): string {
  return createHash('sha256').update(email.toLowerCase()).digest('hex');
}

function refusalOf(counters: (Counter & { max: number })[], counts: Count[]): Admission {
  const over = counts.filter(({ attempts }, index) => attempts > counters[index]!.max);
  return { retryAfterS: over.length === 0 ? null : Math.max(...over.map(({ leftS }) => leftS)) };
}
