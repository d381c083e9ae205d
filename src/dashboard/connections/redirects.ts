/** The addresses that codes are sent to. */
import { isLoopbackHost } from '../../platform/config/addresses.ts';

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
