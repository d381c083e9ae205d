import { hash } from 'node:crypto';
import type { Sql } from '../../postgres/connect.ts';
import { HOUR, MINUTE } from '../../units.ts';
import { type ClientAddress, networkOf } from '../request/client-address.ts';
import { TOKEN_LIFE_MS } from '../request/csrf.ts';

/** Sign-ups of one visitor are few, because each makes an account with an allowance. */
const SIGN_UPS = { max: 5, windowMs: HOUR };
/** Failed guesses of passwords from one address. */
const GUESSES_OF_ADDRESS = { max: 10, windowMs: 5 * MINUTE };
/** Failed guesses of one user's password, from anywhere (ASVS 2.2.1 wants at most 100). */
const GUESSES_OF_EMAIL = { max: 20, windowMs: HOUR };
const MAILS_OF_ADDRESS = { max: 5, windowMs: HOUR };
const MAILS_TO_EMAIL = { max: 5, windowMs: HOUR };
/** A form is sent once while its token works. */
const SENDINGS = { max: 1, windowMs: TOKEN_LIFE_MS };

/** A limit of attempts within a window, which begins with the first attempt. */
interface Limit {
  key: string;
  max: number;
  windowMs: number;
}

/** Whether an attempt may go on. */
export interface Admission {
  /** Seconds to wait; `null` means that it may go on. */
  retryAfterS: number | null;
}

/** @param mails whether the sign-up sends a mail */
export async function admitSignUp(
  sql: Sql,
  address: ClientAddress,
  email: string,
  mails: boolean,
): Promise<Admission> {
  const limits = [{ key: `sign-up ${networkOf(address.address)}`, ...SIGN_UPS }];
  if (mails) limits.push(mailsTo(email));
  return admit(sql, limits);
}

/** Counts mails that a visitor asks for, one to each email, even if no user has it. */
export async function admitMail(sql: Sql, address: ClientAddress, ...emails: string[]): Promise<Admission> {
  const limits = emails.map(mailsTo);
  if (!address.isShared) limits.push({ key: `mail ${networkOf(address.address)}`, ...MAILS_OF_ADDRESS });
  return admit(sql, limits);
}

/**
 * Whether a form is sent for the first time, on any instance. A second click and a reload of the answer send it again.
 *
 * @param token the form's token, verified: each page has its own
 */
export async function isFirstSending(sql: Sql, token: string): Promise<boolean> {
  const { retryAfterS } = await admit(sql, [{ key: `form ${hash('sha256', token, 'base64')}`, ...SENDINGS }]);
  return retryAfterS === null;
}

export type GuessOutcome =
  | { isRight: true; cookies: string[] }
  /** `retryAfterS`: the seconds to wait before the next guess; `null` means that this one was wrong. */
  | { isRight: false; retryAfterS: number | null };

/**
 * Checks a password, unless too many guesses failed from the address, or of this email's password. Many visitors may share an
 * address, such as a proxy's that TRUST_PROXY doesn't name. It is refused only for emails that failed within the hour, because
 * otherwise ten wrong passwords from anywhere would keep everybody out.
 *
 * @param check the cookies of a right guess, `null` for a wrong one; when it throws, nothing was guessed
 */
export async function guess(
  sql: Sql,
  address: ClientAddress,
  email: string,
  check: () => Promise<string[] | null>,
): Promise<GuessOutcome> {
  const limits = [
    { key: guessesOf(email), ...GUESSES_OF_EMAIL },
    { key: `guess ${networkOf(address.address)}`, ...GUESSES_OF_ADDRESS },
  ];
  const [ofEmail, ofAddress] = (await countAttempt(sql, limits)) as [Count, Count];
  const isAddressOver = isOver(ofAddress) && (!address.isShared || ofEmail.attempts > 1);
  let isWrong = false;
  try {
    if (isOver(ofEmail)) return { isRight: false, retryAfterS: ofEmail.leftS };
    if (isAddressOver) return { isRight: false, retryAfterS: ofAddress.leftS };
    const cookies = await check();
    isWrong = cookies === null;
    return cookies === null ? { isRight: false, retryAfterS: null } : { isRight: true, cookies };
  } finally {
    // A right guess doesn't count. A refused one, and one that could not be checked, has guessed nothing.
    if (!isWrong) await takeBackAttempt(sql, limits);
  }
}

/** Lets the owner of an email sign in after they proved that it is theirs, even if guesses of its password failed. */
export async function forgetGuesses(sql: Sql, email: string): Promise<void> {
  await sql`DELETE FROM dashboard_attempts WHERE key = ${guessesOf(email)}`;
}

const guessesOf = (email: string) => `guess ${hash('sha256', email.toLowerCase())}`;
const mailsTo = (email: string): Limit => ({
  key: `mail ${hash('sha256', email.toLowerCase())}`,
  ...MAILS_TO_EMAIL,
});

async function admit(sql: Sql, limits: Limit[]): Promise<Admission> {
  const over = (await countAttempt(sql, limits)).filter(isOver);
  return { retryAfterS: over.length === 0 ? null : Math.max(...over.map(({ leftS }) => leftS)) };
}

interface Count extends Limit {
  attempts: number;
  /** Seconds until the window ends. */
  leftS: number;
}

const isOver = ({ attempts, max }: Count) => attempts > max;

/**
 * Counts one attempt of each limit before its outcome is known, so that simultaneous attempts can't all pass below it.
 *
 * @returns the counts with this attempt, in the order of `limits`
 */
async function countAttempt(sql: Sql, limits: Limit[]): Promise<Count[]> {
  const keys = limits.map(({ key }) => key);
  const windowsMs = limits.map(({ windowMs }) => windowMs);
  // Rows are locked in the order of their keys, so that two statements can't deadlock.
  const rows = await sql<Pick<Count, 'key' | 'attempts' | 'leftS'>[]>`
    INSERT INTO dashboard_attempts AS a (key, attempts, ends_at)
    SELECT key, 1, now() + window_ms * interval '1 millisecond'
    FROM unnest(${keys}::text[], ${windowsMs}::float8[]) AS counter (key, window_ms)
    ORDER BY key
    ON CONFLICT (key) DO UPDATE SET
      attempts = CASE WHEN a.ends_at <= now() THEN 1 ELSE a.attempts + 1 END,
      ends_at = CASE WHEN a.ends_at <= now() THEN excluded.ends_at ELSE a.ends_at END
    RETURNING key, attempts, extract(epoch FROM ends_at - now())::float8 AS "leftS"`;
  return limits.map((limit) => ({ ...limit, ...rows.find(({ key }) => key === limit.key)! }));
}

async function takeBackAttempt(sql: Sql, limits: Limit[]): Promise<void> {
  await sql`
    UPDATE dashboard_attempts SET attempts = attempts - 1
    WHERE attempts > 0 AND key IN (
      SELECT key FROM dashboard_attempts WHERE key = ANY (${limits.map(({ key }) => key)}::text[])
      ORDER BY key FOR UPDATE)`;
}
