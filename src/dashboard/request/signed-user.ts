import { createHmac, timingSafeEqual } from 'node:crypto';
import { keyFor } from './csrf.ts';

/** An id has 32 characters, and a signature 43. */
const MAX_LENGTH = 200;

/**
 * Signs the ids of users, so that a cookie or a link tells whose it is.
 *
 * @param secret the dashboard's secret
 * @param use the purpose; a signature is worth nothing in another one
 */
export function createUserSigner(secret: string, use: string) {
  const key = keyFor(secret, use);
  const sign = (userId: string, bound: string[] = []) =>
    `${userId}.${createHmac('sha256', key)
      .update([userId, ...bound].join('\n'))
      .digest('base64url')}`;

  return {
    /** @param bound texts that must be the same when it is checked */
    sign,
    /** The id in a signed text; '' if it has none. The signature is not checked. */
    claimed: (text: string): string =>
      text.length > MAX_LENGTH ? '' : text.slice(0, Math.max(0, text.indexOf('.'))),
    /** Whether a text is a user's id with its signature. */
    isSigned(text: string, userId: string, bound: string[] = []): boolean {
      const [sent, right] = [Buffer.from(text), Buffer.from(sign(userId, bound))];
      return sent.length === right.length && timingSafeEqual(sent, right);
    },
  };
}
