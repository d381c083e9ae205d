import { hash } from 'node:crypto';
import type { EventKind } from '../../metering/accounts/events.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { DAY, HOUR, MINUTE } from '../../platform/units.ts';
import type { Door, PageContext } from '../context.ts';
import { type ClientAddress, countedNetworks } from '../request/client-address.ts';
import { TOKEN_LIFE_MS } from '../request/csrf.ts';
import { type Refusal, tooMany } from '../request/forms.ts';

/** A limit of attempts within a window, which begins with the first attempt. */
export interface Limit {
  key: string;
  max: number;
  windowMs: number;
}

const limit = (key: string, max: number, windowMs: number): Limit => ({ key, max, windowMs });

/** Sign-ups of one visitor are few, because each makes an account with an allowance. */
export const signUpsOf = (address: ClientAddress) => ofAddress('sign-up', address, 5, HOUR);

/** Mails that a visitor asks for, also those that are not sent. Many visitors can share an address: there only {@link mailsTo} counts. */
export const mailsOf = (door: Door) => (door.isShared ? [] : ofDoor('mail', door, 5, HOUR));

/** Mails that are sent to an email, by their purpose and the account that asks, so that strangers don't use up an owner's. */
export const mailsTo = (
  email: string,
  purpose: 'confirm' | 'reset' | `${'invitation' | 'new-email'} ${string}`,
) => limit(`mail-${purpose} ${hashOf(email)}`, 5, HOUR);

/** Failed guesses of passwords from one address. */
const guessesFrom = (address: ClientAddress) => ofAddress('guess', address, 10, 5 * MINUTE);

/** Guesses of one user's password, right ones too: in known browsers, and elsewhere (ASVS 2.2.1 wants at most 100). */
const guessesOf = (email: string, isKnown: boolean) =>
  limit(`${isKnown ? 'known' : 'guess'} ${hashOf(email)}`, 30, HOUR);

/** Codes of the second factor that a signed-in user gives. */
export const codesOf = (user: { id: string }) => limit(`codes ${user.id}`, 10, DAY);

/** Changes of one kind that a member makes. Each leaves a row in the account's ledger, which is kept. */
export const changesOf = (user: { id: string }, kind: EventKind) => limit(`${kind} ${user.id}`, 20, DAY);

/** Downloads of account data by a member. */
export const downloadsOf = (user: { id: string }) => limit(`download ${user.id}`, 1, MINUTE);

/** Requests for a connection, before a sign-in. Each waits in a row. */
export const connectsOf = (door: Door) => ofDoor('connect', door, 100, 10 * MINUTE);

/** Documents of clients that a member makes the service read. */
export const clientsOf = (user: { id: string }) => limit(`clients ${user.id}`, 30, 10 * MINUTE);

/** Registrations of clients from one address. */
export const registrationsOf = (address: ClientAddress) => ofAddress('register', address, 20, HOUR);

/** Codes and refresh tokens from one address that were refused: beyond them failures alone get another answer. */
export const tokenFailuresOf = (address: ClientAddress) => ofAddress('token', address, 200, 10 * MINUTE);

/** Counts an attempt, also one that is refused. @returns the seconds to wait; `null` means that it may go on */
export async function countAttempt(sql: Sql, ...limits: Limit[]): Promise<number | null> {
  const over = (await countEach(sql, ...limits)).filter((leftS) => leftS !== null);
  return over.length === 0 ? null : Math.max(...over);
}

/** The same, with an answer for each limit. One statement counts, so of two attempts at once one comes first at all of them. */
export async function countEach(sql: Sql, ...limits: Limit[]): Promise<(number | null)[]> {
  return (await addAttempt(sql, limits)).map((count) => (isOver(count) ? count.leftS : null));
}

/** The refusal of a form whose attempt is one too many; `null` if it may go on. */
export async function limited(context: PageContext, limits: Limit[]): Promise<Refusal | null> {
  return limits.length === 0 ? null : tooMany(context, await countAttempt(context.tools.sql, ...limits));
}

const isFirst = async (sql: Sql, key: string, windowMs: number) =>
  (await countAttempt(sql, limit(key, 1, windowMs))) === null;

/** Whether a form is sent for the first time: a second click sends it again. @param token the form's, of which each page has its own */
export const isFirstSending = async (sql: Sql, token: string): Promise<boolean> =>
  (await countAttempt(sql, sendingsOf(token))) === null;

/** One sending of a form. */
export const sendingsOf = (token: string): Limit =>
  limit(`form ${hash('sha256', token, 'base64')}`, 1, TOKEN_LIFE_MS);

/** Whether an app's code is given for the first time. It works while it is shown, and 30 seconds before and after. */
export const isFirstUse = (sql: Sql, userId: string, code: string): Promise<boolean> =>
  isFirst(sql, `code ${hash('sha256', `${userId} ${code}`)}`, 2 * MINUTE);

/** Whether a lock of a user's codes is seen for the first time. A lock ends within a day. */
export const isFirstOfLock = (sql: Sql, userId: string, end: Date): Promise<boolean> =>
  isFirst(sql, `code-lock ${userId} ${end.getTime()}`, DAY);

export type GuessOutcome =
  | { isRight: true; cookies: string[] }
  /** `retryAfterS`: the seconds to wait before the next guess; `null` means that this one was wrong. */
  | { isRight: false; retryAfterS: number | null };

/**
 * Checks a password, unless too many guesses of it were made, or too many failed from the address. A browser in which the user
 * has signed in before has a count apart, so that guesses from elsewhere don't lock the user out there.
 *
 * Many visitors may share an address, such as a proxy's that TRUST_PROXY doesn't name. Such an address is refused only for
 * emails that were guessed within the hour. Otherwise ten wrong passwords would keep every visitor out.
 *
 * @param user `id` is `null` if no user has the email
 * @param check the cookies of a right guess, `null` for a wrong one; when it throws, nothing was guessed
 */
export async function checkGuess(
  { tools, client, session }: PageContext,
  user: { id: string | null; email: string },
  check: () => Promise<string[] | null>,
): Promise<GuessOutcome> {
  const isKnown = user.id !== null && [client.knownUser, session?.user.id].includes(user.id);
  const addressLimits = isKnown ? [] : guessesFrom(client);
  const limits = [guessesOf(user.email, isKnown), ...addressLimits];
  const [count, ...addressCounts] = (await addAttempt(tools.sql, limits)) as [Count, ...Count[]];
  const isSpared = client.isShared && count.attempts === 1;
  const over = isOver(count) ? count : isSpared ? undefined : addressCounts.find(isOver);
  // A guess that was refused, or could not be checked, counts nowhere.
  let uncounted = limits;
  try {
    if (over !== undefined) return { isRight: false, retryAfterS: over.leftS };
    const cookies = await check();
    uncounted = cookies === null ? [] : addressLimits;
    return cookies === null ? { isRight: false, retryAfterS: null } : { isRight: true, cookies };
  } finally {
    if (uncounted.length > 0) await takeBackAttempt(tools.sql, uncounted);
  }
}

/** Forgets the guesses of an email's password, after its owner has proved by a link that it is theirs. */
export function forgetGuesses(sql: Sql, email: string): Promise<void> {
  return forgetAttempts(sql, guessesOf(email, false).key, guessesOf(email, true).key);
}

/** Forgets all attempts that count under these keys. */
export async function forgetAttempts(sql: Sql, ...keys: string[]): Promise<void> {
  await sql`DELETE FROM dashboard_attempts WHERE key = ANY (${keys}::text[])`;
}

/** Forgets the only attempt that counts under a key. @returns whether it was the only one */
export async function forgetSingle(sql: Sql, key: string): Promise<boolean> {
  const forgotten = await sql`DELETE FROM dashboard_attempts WHERE key = ${key} AND attempts = 1 RETURNING 1`;
  return forgotten.length > 0;
}

const hashOf = (email: string) => hash('sha256', email.toLowerCase());

/** The same for a browser in which a user has signed in, apart from its address, where strangers can't use the limit up. */
const ofDoor = (kind: string, door: Door, max: number, windowMs: number): Limit[] =>
  door.knownUser === null
    ? ofAddress(kind, door, max, windowMs)
    : [limit(`${kind} ${door.knownUser}`, max, windowMs)];

/** The limits of an address, in each of its networks. */
function ofAddress(kind: string, { address }: ClientAddress, max: number, windowMs: number): Limit[] {
  return countedNetworks(address).map(({ network, times }) =>
    limit(`${kind} ${network}`, max * times, windowMs),
  );
}

interface Count extends Limit {
  attempts: number;
  /** Seconds until the window ends. */
  leftS: number;
}

const isOver = ({ attempts, max }: Count) => attempts > max;

/** Counts an attempt of each limit, in their order, before its outcome is known, so that simultaneous ones can't all pass. */
async function addAttempt(sql: Sql, limits: Limit[]): Promise<Count[]> {
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
  // A limit without a count would refuse nothing.
  return limits.map((limit) => ({ ...limit, ...only(rows.filter(({ key }) => key === limit.key)) }));
}

async function takeBackAttempt(sql: Sql, limits: Limit[]): Promise<void> {
  await sql`
    UPDATE dashboard_attempts SET attempts = attempts - 1
    WHERE attempts > 0 AND key IN (
      SELECT key FROM dashboard_attempts WHERE key = ANY (${limits.map(({ key }) => key)}::text[])
      ORDER BY key FOR UPDATE)`;
}
