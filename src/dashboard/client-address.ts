import { BlockList, isIP } from 'node:net';

/** Who a request is from, as far as that can be known. */
export type ClientAddress = (peer: string | null, forwardedFor: string | null) => string;

/**
 * The address that sign-ups and sign-in attempts are counted against: the connection's own, unless that is a trusted
 * proxy. Then the rightmost `X-Forwarded-For` entry that is not a trusted proxy itself: what stands further left could
 * have been written by anyone.
 *
 * @param trusted addresses and networks, as `TRUST_PROXY` has them
 */
export function createClientAddress(trusted: string[]): ClientAddress {
  const proxies = new BlockList();
  for (const entry of trusted) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number(bits), family);
  }
  const isProxy = (address: string) => proxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

  return (peer, forwardedFor) => {
    let client = plain(peer ?? '') || '0.0.0.0';
    const hops = (forwardedFor ?? '').split(',').map((hop) => plain(hop.trim()));
    while (isProxy(client)) {
      const hop = hops.pop();
      if (hop === undefined || isIP(hop) === 0) break;
      client = hop;
    }
    return client;
  };
}

/** An IPv4 address that came over an IPv6 socket, as IPv4. */
function plain(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? address;
}
