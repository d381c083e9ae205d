import { BlockList, isIP } from 'node:net';

/** Networks that are not the public internet, or can stand for others (IANA's registries of special addresses). */
const SPECIAL = new BlockList();
for (const network of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
])
  add(network, 'ipv4');
for (const network of ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']) add(network, 'ipv6');

/** All public addresses of IPv6 are in it. So mapped, translated and local ones are out. */
const GLOBAL = new BlockList();
GLOBAL.addSubnet('2000::', 3, 'ipv6');

function add(network: string, family: 'ipv4' | 'ipv6'): void {
  const [address = '', bits] = network.split('/');
  SPECIAL.addSubnet(address, Number(bits), family);
}

/** Whether an address is one of the public internet, so that a request to it reaches nothing of the operator's own network. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !SPECIAL.check(address, 'ipv4');
  return family === 6 && GLOBAL.check(address, 'ipv6') && !SPECIAL.check(address, 'ipv6');
}
