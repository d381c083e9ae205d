/** The parameters that a Postgres address may have, as libpq knows them and providers print them. */
import { ConfigError } from './environment.ts';

const words = (text: string) => text.split(/\s+/);

/** The service, or the driver, does what they ask for. tls.ts checks `sslmode`. */
const HONOURED = words('application_name options sslmode sslnegotiation target_session_attrs');

/** Values of `target_session_attrs` that the primary meets, which the service takes anyway. Providers print `read-write`. */
export const MET_BY_PRIMARY = ['any', 'read-write'];

const ANY = /^/;
const OFF = /^(false|off|no|0|)$/;

/** Values that ask for nothing more than the service does. The last two of the names without a list are of other clients. */
const DROPPED = new Map<string, RegExp>([
  ...words(
    `load_balance_hosts fallback_application_name client_encoding connect_timeout keepalives keepalives_idle keepalives_interval
    keepalives_count tcp_user_timeout max_protocol_version sslcompression sslsni sslkeylogfile ssl_max_protocol_version
    connection_limit pool_timeout`,
  ).map((name): [string, RegExp] => [name, ANY]),
  ...words('replication pgbouncer gssdelegation').map((name): [string, RegExp] => [name, OFF]),
  ['target_session_attrs', new RegExp(`^(${MET_BY_PRIMARY.join('|')})$`)],
  ['gssencmode', /^(disable|prefer)$/],
  ['channel_binding', /^(disable|prefer)$/],
  ['sslcertmode', /^(disable|allow)$/],
  ['min_protocol_version', /^3\.0$/],
  ['ssl_min_protocol_version', /^TLSv1(\.[12])?$/],
]);

/** Demands that the certificate meets, too: only the proven server then sees the password or its proof. */
const MET_BY_CERTIFICATE = new Map([
  ['channel_binding', /^require$/],
  ['require_auth', ANY],
  ['sslrootcert', /^system$/],
]);

/** What to do instead; of the others the service does nothing. */
const REMEDIES: [parameters: string[], remedy: string][] = [
  [
    words('host hostaddr port dbname user password'),
    'write it as postgres://user:password@host:5432/database',
  ],
  [
    words('channel_binding require_auth gssencmode'),
    'set sslmode=verify-full, which proves the server in its place',
  ],
  [['sslrootcert'], 'name the certificate authority in NODE_EXTRA_CA_CERTS'],
  [['pgbouncer'], 'name Postgres itself, not its pooler'],
];
const OTHERWISE =
  'take it out; the service signs in by a password, and reads no files but NODE_EXTRA_CA_CERTS';

/**
 * A Postgres address without the parameters that mean nothing here.
 * @throws ConfigError for every other parameter that the service does not honour; without its value
 */
export function withoutForeignParameters(name: string, address: string): string {
  const start = address.indexOf('?');
  if (start === -1) return address;
  const parameters = new URLSearchParams(address.slice(start));
  const modes = parameters.getAll('sslmode');
  // The system's authorities without a mode mean to verify, as in libpq.
  if (modes.length === 0 && parameters.get('sslrootcert') === 'system') {
    parameters.set('sslmode', 'verify-full');
    modes.push('verify-full');
  }
  const isVerified = modes.length > 0 && modes.every((mode) => mode === 'verify-full');
  for (const [parameter, value] of [...parameters]) {
    const isMet = isVerified && MET_BY_CERTIFICATE.get(parameter)?.test(value) === true;
    if (isMet || DROPPED.get(parameter)?.test(value)) parameters.delete(parameter, value);
    else if (!HONOURED.includes(parameter)) {
      const remedy = REMEDIES.find(([parameters]) => parameters.includes(parameter))?.[1] ?? OTHERWISE;
      throw new ConfigError(`${name} has ${parameter}, which is not supported: ${remedy}`);
    }
  }
  const kept = parameters.toString();
  return address.slice(0, start) + (kept === '' ? '' : `?${kept}`);
}
