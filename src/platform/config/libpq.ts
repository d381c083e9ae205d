/** Every parameter of libpq that a Postgres address may have, as providers print it, and what it means here. */
import { ConfigError } from './environment.ts';

/** A parameter's value, and whether the address verifies the server (`sslmode=verify-full`). */
type Rule = (value: string, isVerified: boolean) => 'keep' | 'drop' | { refuse: string };

const keep: Rule = () => 'keep';
/** Nothing here depends on it: the service has its own, or none of what it sets. */
const drop: Rule = () => 'drop';
const refuse =
  (remedy: string): Rule =>
  () => ({ refuse: remedy });
/** Drops values that ask for nothing more than the service does. */
const dropOnly =
  (values: string[], remedy: string): Rule =>
  (value) =>
    values.includes(value) ? 'drop' : { refuse: remedy };
/** A demand that the certificate meets, too: only the proven server then sees the password or its proof. */
const dropIfVerified: Rule = (_, isVerified) =>
  isVerified ? 'drop' : { refuse: 'set sslmode=verify-full, which proves the server in its place' };

const IN_ADDRESS = refuse('write it as postgres://user:password@host:5432/database');
const AUTHORITY = refuse('name the certificate authority in NODE_EXTRA_CA_CERTS');
const NO_CLIENT_CERTIFICATE = refuse('the service signs in by a password');
const NO_FILE = refuse('the service reads no such file');
const NO_KERBEROS = refuse('the service does not speak GSSAPI');
const OFF = ['false', 'off', 'no', '0', ''];
/** Values of `target_session_attrs` that the primary meets, which the service takes anyway. Providers print `read-write`. */
export const MET_BY_PRIMARY = ['any', 'read-write'];

/** The parameters of libpq 18 (its manual, "Parameter Key Words"), and those that providers add for other clients. */
export const LIBPQ_PARAMETERS = new Map<string, Rule>(
  Object.entries({
    // Where and who.
    host: IN_ADDRESS,
    hostaddr: IN_ADDRESS,
    port: IN_ADDRESS,
    dbname: IN_ADDRESS,
    user: IN_ADDRESS,
    password: IN_ADDRESS,
    passfile: NO_FILE,
    service: NO_FILE,
    servicefile: NO_FILE,
    // addresses.ts checks it.
    target_session_attrs: (value) => (MET_BY_PRIMARY.includes(value) ? 'drop' : 'keep'),
    load_balance_hosts: drop,
    replication: dropOnly(OFF, 'the service is no standby'),
    // The session.
    application_name: keep,
    fallback_application_name: drop,
    client_encoding: drop,
    options: keep,
    connect_timeout: drop,
    keepalives: drop,
    keepalives_idle: drop,
    keepalives_interval: drop,
    keepalives_count: drop,
    tcp_user_timeout: drop,
    min_protocol_version: dropOnly(['3.0'], 'the service speaks version 3.0'),
    max_protocol_version: drop,
    // TLS. tls.ts checks `sslmode`.
    sslmode: keep,
    sslnegotiation: keep,
    sslrootcert: (value, isVerified) =>
      value === 'system' && isVerified ? 'drop' : AUTHORITY(value, isVerified),
    sslcompression: drop,
    sslsni: drop,
    sslkeylogfile: drop,
    sslcert: NO_CLIENT_CERTIFICATE,
    sslkey: NO_CLIENT_CERTIFICATE,
    sslpassword: NO_CLIENT_CERTIFICATE,
    sslcertmode: dropOnly(['disable', 'allow'], 'the service signs in by a password'),
    sslcrl: refuse('the service reads no list of revoked certificates'),
    sslcrldir: refuse('the service reads no list of revoked certificates'),
    ssl_min_protocol_version: dropOnly(
      ['TLSv1', 'TLSv1.1', 'TLSv1.2'],
      'the service accepts TLSv1.2 and newer',
    ),
    ssl_max_protocol_version: drop,
    // The identity of the server, and how the service proves its own.
    channel_binding: (value, isVerified) =>
      value === 'require' ? dropIfVerified(value, isVerified) : 'drop',
    require_auth: dropIfVerified,
    requirepeer: refuse('the service does not check the user of a socket'),
    scram_client_key: refuse('the service signs in by a password'),
    scram_server_key: refuse('the service signs in by a password'),
    gssencmode: dropOnly(['disable', 'prefer'], 'set sslmode=verify-full instead'),
    gssdelegation: dropOnly(OFF, 'the service does not speak GSSAPI'),
    krbsrvname: NO_KERBEROS,
    gsslib: NO_KERBEROS,
    oauth_issuer: refuse('the service signs in by a password'),
    oauth_client_id: refuse('the service signs in by a password'),
    oauth_client_secret: refuse('the service signs in by a password'),
    oauth_scope: refuse('the service signs in by a password'),
    // Of other clients. `serve` needs sessions, so a pooler of transactions is no Postgres for it.
    pgbouncer: dropOnly(OFF, 'name Postgres itself, not its pooler'),
    connection_limit: drop,
    pool_timeout: drop,
  }),
);
const UNKNOWN = refuse('libpq has no such parameter');

/**
 * A Postgres address without the parameters that mean nothing here.
 * @throws ConfigError for a parameter that would be unsafe to drop, and for one that libpq does not know; without its value
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
    const rule = LIBPQ_PARAMETERS.get(parameter) ?? UNKNOWN;
    const verdict = rule(value, isVerified);
    if (typeof verdict === 'object') {
      throw new ConfigError(`${name} has ${parameter}, which is not supported: ${verdict.refuse}`);
    }
    if (verdict === 'drop') parameters.delete(parameter, value);
  }
  const kept = parameters.toString();
  return address.slice(0, start) + (kept === '' ? '' : `?${kept}`);
}
