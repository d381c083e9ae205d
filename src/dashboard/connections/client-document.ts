/**
 * Clients by their Client ID Metadata Documents: the id of a client is the address of a document that it has published. A visitor chooses the
 * address, so this is the one request that the service makes to an address of others. It is made for signed-in members only. And the addresses that codes are sent to.
 */

import { lookup } from 'node:dns/promises';
import https from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { Client } from '../../metering/connections/clients.ts';
import { isLoopbackHost } from '../../platform/config/addresses.ts';
import { codeOf, messageOf } from '../../platform/errors.ts';
import { createGate } from '../../platform/runtime/gate.ts';
import { isObject, parseUntrusted } from '../../platform/runtime/json.ts';
import { KIB, SECOND } from '../../platform/units.ts';

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

const MAX_BYTES = 5 * KIB;
/** Of the whole answer: its heads, the document, and what frames it. */
const MAX_ANSWER_BYTES = 32 * KIB;
/** Heads of status 1xx before the document's. A host that sends them without end would keep the event loop for seconds. */
const MAX_EARLY_HEADS = 3;
const TIMEOUT_MS = 3 * SECOND;
const MAX_ID_LENGTH = 300;
const MAX_REDIRECTS = 50;
const MAX_NAME_LENGTH = 60;

/** A client whose document was not taken. The message is for the log, and holds nothing of the document. */
export class ClientError extends Error {}

/** @param member the id of the user for whom it is read */
export type ReadClient = (id: string, member: string) => Promise<Client>;

/** Documents that the process reads at the same time, and those that wait. A member has one. */
const READS = createGate({ places: 4, placesOfOne: 1, maxWaiting: 50, maxWaitMs: 4 * SECOND });

/** How a document is reached, for tests. */
export interface Network {
  /** The addresses of a host name. */
  resolve(host: string): Promise<{ address: string; family: number }[]>;
  isAllowed(address: string): boolean;
  port?: number;
  ca?: string;
}

const INTERNET: Network = {
  resolve: (host) => lookup(host, { all: true }),
  isAllowed: isPublicAddress,
};

/** Whether the id of a client can be the address of its document. */
export function isDocumentAddress(id: string): boolean {
  const url = id.length <= MAX_ID_LENGTH ? URL.parse(id) : null;
  return (
    url !== null &&
    url.href === id &&
    url.protocol === 'https:' &&
    url.port === '' &&
    url.username === '' &&
    url.password === '' &&
    url.pathname !== '/' &&
    !/[?#]/.test(id)
  );
}

/** @param hosts that documents are read from; `*` stands for all */
export function createClientReader(hosts: string[], network: Network = INTERNET): ReadClient {
  return async (id, member) => {
    if (!isDocumentAddress(id)) throw new ClientError('the client id is no address of a document');
    const url = new URL(id);
    if (!hosts.includes('*') && !hosts.includes(url.hostname))
      throw new ClientError(`OAUTH_CLIENT_HOSTS does not name ${url.hostname}`);
    const leave = await READS.enter(member);
    try {
      return clientOf(id, await read(url, network));
    } catch (error) {
      throw new ClientError(
        `${url.hostname}: ${error instanceof ClientError ? error.message : reasonOf(error)}`,
      );
    } finally {
      leave();
    }
  };
}

/** An error of the network by its code: its message can hold the address. */
const reasonOf = (error: unknown) => codeOf(error) ?? messageOf(error);

/** Reads the document over one connection to one address, which was checked. Nothing resolves the name again. */
async function read(url: URL, network: Network): Promise<unknown> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const late = new Promise<never>((_, reject) => {
    timeout.addEventListener('abort', () => reject(new ClientError('no answer within 3 s')));
  });
  const addresses = await Promise.race([network.resolve(url.hostname), late]);
  const [first] = addresses;
  // All of them, because an attacker's name can have a public address beside a private one.
  if (first === undefined || !addresses.every(({ address }) => network.isAllowed(address)))
    throw new ClientError('its address is not public');
  const document = parseUntrusted(await Promise.race([request(url, first, network, timeout), late]));
  if (document === null) throw new ClientError('no JSON');
  return document;
}

function request(
  url: URL,
  pinned: { address: string; family: number },
  { ca, port }: Network,
  signal: AbortSignal,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const sent = https.request(
    url,
    {
      // Node's hook for the address of a name. It answers one address, so there is no other to fall back to.
      lookup: (_host, options, done) => {
        if (options.all === true) done(null, [pinned]);
        else done(null, pinned.address, pinned.family);
      },
      headers: { Accept: 'application/json', 'Accept-Encoding': 'identity' },
      agent: false,
      signal,
      ...(ca !== undefined && { ca }),
      ...(port !== undefined && { port }),
    },
    (response) => {
      // A redirect is none of the service's requests.
      if (response.statusCode !== 200) return fail(`status ${response.statusCode}`);
      if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(response.headers['content-type'] ?? ''))
        return fail('no JSON');
      const parts: Buffer[] = [];
      let bytes = 0;
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > MAX_BYTES) fail('more than 5 KiB');
        else parts.push(part);
      });
      response.on('end', () => resolve(Buffer.concat(parts)));
      response.on('error', reject);
    },
  );
  function fail(reason: string): void {
    reject(new ClientError(reason));
    sent.destroy();
  }
  let [answerBytes, earlyHeads] = [0, 0];
  sent.on('information', () => {
    earlyHeads += 1;
    if (earlyHeads > MAX_EARLY_HEADS) fail('too many heads');
  });
  sent.on('socket', (socket) =>
    socket.on('data', (part: Buffer) => {
      answerBytes += part.length;
      if (answerBytes > MAX_ANSWER_BYTES) fail('more than 32 KiB');
    }),
  );
  sent.on('error', reject);
  sent.end();
  return promise;
}

/** @throws ClientError if the document is not that of a public client which takes codes */
function clientOf(id: string, document: unknown): Client {
  if (!isObject(document)) throw new ClientError('no object');
  const { client_id, client_name, redirect_uris, token_endpoint_auth_method: method } = document;
  const methods = document.token_endpoint_auth_methods_supported;
  // Without this, a page where strangers can store a file would speak for its host.
  if (client_id !== id) throw new ClientError('it is the document of another client');
  if (!isListOfTexts(redirect_uris)) throw new ClientError('no redirect_uris');
  const isPublic =
    method === undefined || method === 'none' || (Array.isArray(methods) && methods.includes('none'));
  if (!isPublic) throw new ClientError('no public client');
  return { id, name: clientName(client_name), redirectUris: redirect_uris.filter(isRedirect) };
}

export const isListOfTexts = (value: unknown): value is string[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= MAX_REDIRECTS &&
  value.every((text) => typeof text === 'string');

/** The name that a client gives itself, cut, and without characters that could rearrange the page around it. */
export function clientName(value: unknown): string {
  if (typeof value !== 'string') return '';
  const plain = value
    .toWellFormed()
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim();
  return [...plain].slice(0, MAX_NAME_LENGTH).join('');
}

const MAX_LENGTH = 1000;
/** No blanks, quotes, brackets and backslashes, which no address has, and no fragment. */
const PLAIN = /^[!$-;=?-Z\]_a-z~[%]+$/;

/** Whether a code may be sent there: over TLS, or to a program on the member's own machine. */
export function isRedirect(text: string): boolean {
  const url = text.length <= MAX_LENGTH && PLAIN.test(text) ? URL.parse(text) : null;
  if (url === null || url.username !== '' || url.password !== '') return false;
  // The browser must go to the address that the page shows.
  if (url.href !== text && url.href !== `${text}/`) return false;
  return url.protocol === 'https:' || isOwnMachine(url);
}

const isOwnMachine = ({ protocol, hostname }: URL) => protocol === 'http:' && isLoopbackHost(hostname);

/** Whether a program on the machine of the browser gets the code. Any program can listen there. */
export const isLocalRedirect = (redirectUri: string): boolean => isOwnMachine(new URL(redirectUri));

/** Whether a client takes codes at an address: exactly one that it names, on the own machine with any port. */
export function takesRedirect(own: string[], redirectUri: string): boolean {
  if (own.includes(redirectUri)) return true;
  if (!isLocalRedirect(redirectUri)) return false;
  const wanted = withoutPort(redirectUri);
  return own.some((uri) => isRedirect(uri) && isLocalRedirect(uri) && withoutPort(uri) === wanted);
}

function withoutPort(uri: string): string {
  const url = new URL(uri);
  url.port = '';
  return url.href;
}

/** The address with the parameters of an answer behind its own. */
export function answerAddress(redirectUri: string, parameters: Record<string, string>): string {
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}`;
}
