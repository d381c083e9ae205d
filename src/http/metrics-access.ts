import { createHash, timingSafeEqual } from 'node:crypto';

/** Addresses of this machine. IPv4 can arrive over an IPv6 socket. */
const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/i;

/**
 * Whether a request may read `/metrics` (docs/configuration.md). If a token is set, the request must carry it. Otherwise it must
 * come from this machine without a proxy; all others get 404.
 *
 * @param peer the address that the connection comes from; `null` if it is not known
 * @param token `METRICS_TOKEN`; `null` means that none is set
 */
export function mayReadMetrics(
  { headers }: Pick<Request, 'headers'>,
  peer: string | null,
  token: string | null,
): 'allowed' | 'refused' | 'hidden' {
  if (token === null) {
    const isLocal = peer !== null && LOOPBACK.test(peer) && headers.get('x-forwarded-for') === null;
    return isLocal ? 'allowed' : 'hidden';
  }
  const digest = (text: string) => createHash('sha256').update(text).digest();
  // The scheme is matched without regard to case, as for keys.
  const given = /^bearer +(.*)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(given), digest(token)) ? 'allowed' : 'refused';
}
