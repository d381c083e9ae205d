/** Addresses of servers: several in one variable, and those of this machine. */
import { ConfigError, httpUrl, url } from './environment.ts';
import { MET_BY_PRIMARY } from './libpq.ts';

const SEVERAL_URLS = /,\s*(?=https?:\/\/)/i;

/**
 * The addresses of a cluster's nodes with commas between them, each without a slash at its end.
 * @throws ConfigError for an address that makes no sense, and for different passwords, because the client sends the first to all
 */
export function httpUrls(name: string, value: string): string {
  const nodes = value.split(SEVERAL_URLS).map((node) => httpUrl(name, node.trim()));
  const credentials = nodes.map((node) => {
    const { username, password } = new URL(node);
    return `${username}:${password}`;
  });
  if (credentials.every((each) => each === credentials[0])) return [...new Set(nodes)].join(',');
  throw new ConfigError(`${name} must have the same user name and password in each of its addresses`);
}

/** The single addresses of {@link httpUrls}. */
export const nodesOf = (urls: string): string[] => urls.split(SEVERAL_URLS);

const POSTGRES = ['postgres:', 'postgresql:'];
const POSTGRES_PORT = 5432;
/** Scheme and credentials; hosts; path and query. */
const POSTGRES_URL = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;

/** The address of each host of a Postgres URL. */
export function postgresHosts(address: string): string[] {
  const [, before = '', hosts = '', after = ''] = POSTGRES_URL.exec(address) ?? [];
  return hosts.split(',').map((host) => before + host + after);
}

/**
 * A Postgres address with one `host:port` or several, as in libpq. Of several the service uses the primary, so the address
 * gets `target_session_attrs`. It also gets every port, because postgres.js would use the first host's port for a host
 * without one. The address names its database.
 *
 * @throws ConfigError without the value, which may hold a password
 */
export function postgresUrl(name: string, value: string): string {
  const addresses = postgresHosts(value);
  for (const address of addresses) url(name, address, POSTGRES);
  const { searchParams, pathname } = new URL(addresses[0]!);
  // Postgres would take the one named after the user, often a database that others use.
  if (pathname.length <= 1) {
    throw new ConfigError(
      `${name} must end with the name of a database, as postgres://user@host:5432/directory`,
    );
  }
  const wanted = searchParams
    .getAll('target_session_attrs')
    .filter((which) => !MET_BY_PRIMARY.includes(which));
  // With other values postgres.js would use a hot standby of Postgres 14 and later for writing.
  if (wanted.some((which) => which !== 'primary')) {
    throw new ConfigError(`${name} must have target_session_attrs=primary, or none: the service writes`);
  }
  if (addresses.length === 1) return value;
  const [, before, hosts, after] = POSTGRES_URL.exec(value)!;
  if (hosts!.includes('[')) {
    throw new ConfigError(`${name} has an IPv6 address among several hosts: write its host name`);
  }
  const withPorts = hosts!.split(',').map((host) => (host.includes(':') ? host : `${host}:${POSTGRES_PORT}`));
  const joined = before + withPorts.join(',') + after;
  if (wanted.length > 0) return joined;
  return `${joined}${joined.includes('?') ? '&' : '?'}target_session_attrs=primary`;
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/i;

/** Whether a host (`HOST`, or the `hostname` of a `URL`) is this machine, so that no traffic leaves it. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host);
}
