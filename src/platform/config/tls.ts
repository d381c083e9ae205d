/** Encrypted connections: the modes that the configuration may ask for, and the reason of a failed one in plain words. */
import { getCACertificates } from 'node:tls';
import { codeOf } from '../errors.ts';
import { postgresHosts, postgresUrl } from './addresses.ts';
import { ConfigError, type Environment, text } from './environment.ts';
import { withoutForeignParameters } from './libpq.ts';

const SSL_MODES = ['disable', 'require', 'verify-full'];

/**
 * A Postgres address whose `sslmode` postgres.js obeys. Its `prefer` and `allow` go on in plain text if the server, or
 * a machine in between, says that there is no TLS. Its `verify-ca` differs from libpq's. Parameters of libpq that mean nothing here
 * are dropped (libpq.ts).
 *
 * @throws ConfigError without the value, which may hold a password
 */
export function checkDatabaseUrl(name: string, value: string): string {
  const address = withoutForeignParameters(name, postgresUrl(name, value));
  const { searchParams } = new URL(postgresHosts(address)[0]!);
  if (searchParams.getAll('sslmode').every((mode) => SSL_MODES.includes(mode))) return address;
  throw new ConfigError(`${name} must have one of sslmode=${SSL_MODES.join(', ')}, or no sslmode`);
}

/**
 * Bun reads `NODE_EXTRA_CA_CERTS` when the process starts, before any `.env`, and goes on without a file that it can't
 * read. `NODE_TLS_REJECT_UNAUTHORIZED=0` turns every check of a certificate off.
 *
 * @throws ConfigError if a certificate authority is not in force, or checks are off
 */
export function checkTrust(env: Environment): void {
  if (text(env, 'NODE_TLS_REJECT_UNAUTHORIZED') === '0') {
    throw new ConfigError(
      'NODE_TLS_REJECT_UNAUTHORIZED=0 accepts every certificate: unset it, and name a certificate authority in NODE_EXTRA_CA_CERTS',
    );
  }
  if (text(env, 'NODE_EXTRA_CA_CERTS') !== null && getCACertificates('extra').length === 0) {
    throw new ConfigError(
      'NODE_EXTRA_CA_CERTS must name a readable file of PEM certificates, in the environment of the process (not in .env)',
    );
  }
}

const UNTRUSTED =
  'no authority that is trusted here has signed its certificate (NODE_EXTRA_CA_CERTS names further ones)';

const CERTIFICATE_FAULTS = new Map([
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another host name'],
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['CERT_NOT_YET_VALID', 'its certificate is not valid yet: check the clocks'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNTRUSTED],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNTRUSTED],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNTRUSTED],
]);

/** Why a server's certificate was not accepted, in plain words; `null` means that the error is about something else. */
export function certificateFault(error: unknown): string | null {
  return CERTIFICATE_FAULTS.get(codeOf(error) ?? '') ?? null;
}

/** Why a TLS connection failed: its certificate, or a server that doesn't speak TLS. `null` means another cause. */
export function tlsFault(error: unknown): string | null {
  const message = error instanceof Error ? error.message : '';
  // Bun's words for a connection that is closed during the handshake.
  const isCutOff = message.includes('before secure TLS connection was established');
  return isCutOff ? 'it ended the connection instead of speaking TLS' : certificateFault(error);
}
