import { BlockList, isIP } from 'node:net';

/** The address of a request's client, as far as it can be known. */
export interface ClientAddress {
  address: string;
  /**
   * Whether many visitors may have this address: it is not public, or it sends `X-Forwarded-For` and TRUST_PROXY is not set. The latter
   * is probably a proxy, with all visitors behind it. Where proxies are named, it is a client that wants to be spared.
   */
  isShared: boolean;
}

/** Loopback, private, link-local and carrier-grade NAT. */
const NOT_PUBLIC = networks([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1',
  'fc00::/7',
  'fe80::/10',
]);

/** More proxies than these are behind each other nowhere. */
const MAX_HOPS = 16;
/** An IPv6 address with its zone and blanks is shorter. */
const MAX_HOP_LENGTH = 100;

/**
 * Reads the address that sign-ups and sign-in attempts are counted against. It is the connection's own, unless that is a
 * trusted proxy's. Then it is the rightmost entry of `X-Forwarded-For` that is no trusted proxy. Any client can write the
 * entries to the left of it.
 *
 * @param trusted addresses and networks, as `TRUST_PROXY` has them
 * @param onIgnored called with the first untrusted peer that sends `X-Forwarded-For`
 */
export function createClientAddress(trusted: string[], onIgnored: (peer: string) => void = () => {}) {
  const proxies = networks(trusted);
  let hasTold = false;

  /** Reads the hops from the right, one at a time, because a client can write thousands to the left. */
  function behindProxies(proxy: string, hops: string): string {
    let address = proxy;
    let end = hops.length;
    for (let read = 0; read < MAX_HOPS && end > 0 && contains(proxies, address); read += 1) {
      const start = hops.lastIndexOf(',', end - 1) + 1;
      const hop = end - start > MAX_HOP_LENGTH ? '' : plain(hops.slice(start, end).trim());
      if (isIP(hop) === 0) break;
      address = hop;
      end = start - 1;
    }
    return address;
  }

  return (peer: string | null, forwardedFor: string | null): ClientAddress => {
    const from = plain(peer ?? '') || '0.0.0.0';
    const isTrusted = contains(proxies, from);
    const isIgnored = forwardedFor !== null && !isTrusted;
    if (isIgnored && !hasTold) {
      hasTold = true;
      onIgnored(from);
    }
    const address = isTrusted ? behindProxies(from, forwardedFor ?? '') : from;
    return { address, isShared: (isIgnored && trusted.length === 0) || contains(NOT_PUBLIC, address) };
  };
}

/** An IPv4 address, or the /64 or /48 of an IPv6 one: a client with one address of such a network may have them all. */
export function networkOf(address: string, bits: 64 | 48 = 64): string {
  if (isIP(address) !== 6) return address;
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  const groups = [...head, ...zeros, ...tail].slice(0, bits / 16);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/${bits}`;
}

/** The networks of an address that a limit counts, and how often each has the limit. One client may have all of an IPv6 /48. */
export function countedNetworks(address: string): { network: string; times: number }[] {
  const [own, wide] = [networkOf(address), networkOf(address, 48)];
  return [{ network: own, times: 1 }, ...(wide === own ? [] : [{ network: wide, times: 4 }])];
}

function networks(entries: string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

const contains = (list: BlockList, address: string) =>
  list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** An address without its zone (`%eth0`), and an IPv4 address of an IPv6 socket in IPv4's form. */
function plain(address: string): string {
  const bare = address.replace(/%.*$/s, '');
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare;
}
