/**
 * Certificates for tests, made at run time with node:crypto alone: no program such as openssl has to be there, and an
 * expired one needs no clock to be turned. Each is an X.509 v3 certificate in DER (RFC 5280), with a P-256 key.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

export interface Certificate {
  /** PEM. */
  cert: string;
  /** PEM, PKCS #8. */
  key: string;
}

export type Authority = ReturnType<typeof createAuthority>;

const DAY_MS = 86_400_000;

/** A certificate authority that nobody else knows. */
export function createAuthority(name: string) {
  const issuer = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certify = (subject: string, publicKey: KeyObject, extensions: Buffer[], validUntilMs: number) => {
    const body = sequence(
      context(0, integer(Buffer.from([2]))), // v3
      integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      ECDSA_WITH_SHA256,
      commonName(name),
      sequence(utcTime(validUntilMs - 30 * DAY_MS), utcTime(validUntilMs)),
      commonName(subject),
      publicKey.export({ type: 'spki', format: 'der' }),
      context(3, sequence(...extensions)),
    );
    const signature = tagged(0x03, Buffer.from([0]), sign('sha256', body, issuer.privateKey));
    return pem(sequence(body, ECDSA_WITH_SHA256, signature));
  };
  return {
    /** PEM of the authority's own certificate. */
    cert: certify(name, issuer.publicKey, [IS_AUTHORITY], Date.now() + DAY_MS),
    /** @param hosts DNS names and IPv4 addresses that the certificate is for */
    issue(hosts: string[], { expired = false } = {}): Certificate {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const until = Date.now() + (expired ? -DAY_MS : DAY_MS);
      return {
        cert: certify('server', publicKey, [alternativeNames(hosts)], until),
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      };
    },
  };
}

/** A value in DER: its tag, the length of its content, the content. */
function tagged(tag: number, ...content: Buffer[]): Buffer {
  const { length } = Buffer.concat(content);
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), ...content]);
}

const sequence = (...content: Buffer[]) => tagged(0x30, ...content);
const integer = (bytes: Buffer) => tagged(0x02, bytes);
const context = (number: number, content: Buffer) => tagged(0xa0 + number, content);
/** An object identifier by its encoded bytes. */
const identifier = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'));

const ECDSA_WITH_SHA256 = sequence(identifier('2a8648ce3d040302'));

const commonName = (name: string) =>
  sequence(tagged(0x31, sequence(identifier('550403'), tagged(0x0c, Buffer.from(name)))));

const extension = (id: string, value: Buffer) => sequence(identifier(id), tagged(0x04, value));

/** basicConstraints: cA is TRUE. */
const IS_AUTHORITY = extension('551d13', sequence(tagged(0x01, Buffer.from([0xff]))));

/** subjectAltName. */
function alternativeNames(hosts: string[]): Buffer {
  const names = hosts.map((host) =>
    isIPv4(host) ? tagged(0x87, Buffer.from(host.split('.').map(Number))) : tagged(0x82, Buffer.from(host)),
  );
  return extension('551d11', sequence(...names));
}

/** As `261122101500Z`. */
function utcTime(timeMs: number): Buffer {
  const digits = new Date(timeMs).toISOString().replace(/[-:T]|\..*/g, '');
  return tagged(0x17, Buffer.from(`${digits.slice(2)}Z`));
}

const pem = (der: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
