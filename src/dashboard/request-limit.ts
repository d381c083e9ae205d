import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import type { RateLimiter } from '../rate-limit/limiter.ts';
import type { Asker } from './auth.ts';

/** Requests a minute of one member: two a second, which no reader of pages needs for long. */
const MEMBER_LIMIT = 120;
/** Requests a minute of all visitors at one address: they may be an office, or everyone behind a proxy that is not trusted. */
const VISITOR_LIMIT = 300;
const MAX_REFUSED = 10_000;
const SESSION_COOKIE = /(?:^|;\s*)(?:__Secure-)?dashboard\.session_token=([^;]+)/;

/** The dashboard's own token buckets: one a member, one an address for visitors. They are no account's API bucket. */
export interface RequestLimit {
  /**
   * How long an asker who was refused still has to wait, in milliseconds; 0: unknown, or not at all. It asks nobody, so that a
   * crowd of refused requests costs no session and no place.
   */
  stillRefusedMs(asker: Asker): number;
  /**
   * Takes a token.
   *
   * @param userId whose session the asker's cookie opens; `null` for a visitor
   * @returns how long to wait for one, in milliseconds; 0: it was taken
   */
  take(asker: Asker, userId: string | null): Promise<number>;
}

/** @param nowMs a monotonic clock, for tests */
export function createRequestLimit(rateLimiter: RateLimiter, nowMs = () => performance.now()): RequestLimit {
  /** Until when an asker is refused without a look at its bucket. */
  const refused = new Map<string, number>();

  return {
    stillRefusedMs(asker) {
      return Math.max(0, (refused.get(nameOf(asker)) ?? 0) - nowMs());
    },
    async take(asker, userId) {
      const { admitted, waitUs } = await (userId === null
        ? rateLimiter.take(`dash:${networkOf(asker.address)}`, VISITOR_LIMIT)
        : rateLimiter.take(`dash:${userId}`, MEMBER_LIMIT));
      const name = nameOf(asker);
      refused.delete(name);
      if (admitted) return 0;
      if (refused.size >= MAX_REFUSED) refused.delete(refused.keys().next().value as string);
      const waitMs = Math.max(1, waitUs / 1000);
      refused.set(name, nowMs() + waitMs);
      return waitMs;
    },
  };
}

/** By what an asker is known before its session is read: the session's cookie, by hash, or else the network. */
function nameOf({ cookie, address }: Asker): string {
  const session = SESSION_COOKIE.exec(cookie ?? '')?.[1];
  return session === undefined ? networkOf(address) : hash('sha256', session, 'base64');
}

/** An IPv4 address, or the /64 of an IPv6 one: who has one address of it has them all. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail = ''] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  const groups = [...head, ...zeros, ...tail].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
