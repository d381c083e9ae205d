/** Single values of the environment: each is read and checked, and what makes no sense is refused in a line that names it. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { userInfo } from 'node:os';
import { codeOf } from './errors.ts';

/** A value in the environment that makes no sense. The message is one line that names the variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export type Environment = Record<string, string | undefined>;

/** The value without white space around it; null: absent or empty. */
export function text(env: Environment, name: string): string | null {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? null : value;
}

/** Who runs this. Neither variable is there in a container or under cron, and Bun knows a user's name by USER alone. */
export function userName(env: Environment = process.env): string {
  const { uid } = userInfo();
  return text(env, 'USER') ?? text(env, 'LOGNAME') ?? nameOf(uid) ?? `uid ${uid}`;
}

/** The name that the system has for a user's number; `null` where it has none. */
function nameOf(uid: number): string | null {
  try {
    const users = readFileSync('/etc/passwd', 'utf8').split('\n');
    return users.map((line) => line.split(':')).find(([, , id]) => id === String(uid))?.[0] ?? null;
  } catch {
    return null;
  }
}

/** The value, or what is in the file that `NAME_FILE` names. */
export function readSecret(env: Environment, name: string): string | null {
  const secret = findSecret(env, name);
  // It goes into headers and addresses: a line break there is a file with too much in it.
  if (secret === null || !/\p{Cc}/u.test(secret)) return secret;
  throw new ConfigError(`${name} must be one line without control characters`);
}

function findSecret(env: Environment, name: string): string | null {
  const file = text(env, `${name}_FILE`);
  const value = text(env, name);
  if (file === null) return value;
  if (value !== null) throw new ConfigError(`${name} and ${name}_FILE are both set: keep one`);
  try {
    const content = readFileSync(file, 'utf8').trim();
    if (content === '') throw new ConfigError(`${name}_FILE names an empty file`);
    return content;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`${name}_FILE can't be read (${codeOf(error) ?? 'unknown error'})`);
  }
}

interface Range {
  min: number;
  max: number;
  fallback: number;
}

export function integer(env: Environment, name: string, { min, max, fallback }: Range): number {
  const value = text(env, name);
  if (value === null) return fallback;
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not ${quote(value)}`);
}

export function oneOf<T extends string>(
  env: Environment,
  name: string,
  choices: readonly T[],
  fallback: T,
): T {
  const value = text(env, name);
  if (value === null) return fallback;
  if (choices.includes(value as T)) return value as T;
  throw new ConfigError(`${name} must be one of ${choices.join(', ')}, not ${quote(value)}`);
}

const HTTP = ['http:', 'https:'];

export function httpUrl(name: string, value: string | null): string | null {
  return httpAddress(name, value)?.replace(/\/+$/, '') ?? null;
}

/** Paths and queries are put right behind it: what already has a query or a fragment would swallow them. */
export function httpAddress(name: string, value: string | null): string | null {
  const address = url(name, value, HTTP);
  if (address === null || !/[?#]/.test(address)) return address;
  throw new ConfigError(`${name} must be an address without query and fragment`);
}

/** It is shown to everyone, and a password is not for everyone. */
export function publicUrl(name: string, value: string | null): string | null {
  const address = httpUrl(name, value);
  // URL lets characters stand that no URI has, such as the brace of a variable that wasn't filled in.
  if (address === null || !/[@\s{}<>"\\^`|]/.test(address)) return address;
  throw new ConfigError(`${name} must be an address without user name, white space, braces and the like`);
}

/** ioredis takes what is not the number of a database for database 0, without a word. */
export function redisUrl(name: string, value: string | null): string | null {
  const address = url(name, value, ['redis:', 'rediss:']);
  if (address === null) return null;
  const { pathname, searchParams } = new URL(address);
  const databases = [pathname.slice(1), searchParams.get('db') ?? ''];
  if (databases.every((database) => /^\d{0,9}$/.test(database))) return address;
  throw new ConfigError(
    `${name} must end with the number of a database, as redis://host:6379/0, or without one`,
  );
}

/** A value is not repeated in the message: it may hold a password. */
export function url(name: string, value: string | null, protocols: string[]): string | null {
  if (value === null) return null;
  const starts = protocols.map((protocol) => `${protocol}//`);
  if (!starts.some((start) => value.toLowerCase().startsWith(start))) {
    throw new ConfigError(`${name} must be an address that begins with ${starts.join(' or ')}`);
  }
  if (!URL.canParse(value)) throw new ConfigError(`${name} is no address: ${likelyCause(value)}`);
  const { username, password, hostname, hash } = new URL(value);
  if (!isPercentEncoded(username + password)) {
    throw new ConfigError(`${name} has a % in its user name or password that must be written as %25`);
  }
  if (hostname.includes(',')) throw new ConfigError(`${name} is no address: ${MISPLACED_COMMA}`);
  // Some schemes let it stand, and the clients decode it: an error at the first connection, or a host nobody has.
  if (hostname.includes('%')) throw new ConfigError(`${name} has a % in its host name`);
  // Everything behind it is lost: of a password that has one, host and database too.
  if (hash !== '') throw new ConfigError(`${name} has a #: in a user name or password it is written as %23`);
  return value;
}

const MISPLACED_COMMA =
  'commas stand between whole addresses in ELASTICSEARCH_URL, between host:port in DATABASE_URL, and nowhere else';

function likelyCause(value: string): string {
  if (value.includes(',')) return MISPLACED_COMMA;
  return /[#?/]/.test(value.slice(value.indexOf('//') + 2))
    ? 'a #, ? or / in a user name or password is written as %23, %3F or %2F'
    : 'its host name or port makes no sense';
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

export function hostName(env: Environment, name: string, fallback: string): string {
  const value = text(env, name) ?? fallback;
  // What ends in a number but is no IP address (256.1.1.1) fits the pattern, and no URL can be made of it.
  const isName = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i.test(value) && URL.canParse(`http://${value}`);
  if (isIP(value) !== 0 || isName) return value;
  throw new ConfigError(`${name} must be a host name or an IP address, not ${quote(value)}`);
}

export function indexName(env: Environment, name: string, fallback: string): string {
  const value = text(env, name) ?? fallback;
  if (/^[a-z][a-z0-9_-]{0,99}$/.test(value)) return value;
  throw new ConfigError(
    `${name} must be lower-case letters, digits, - and _, beginning with a letter, not ${quote(value)}`,
  );
}

/** It comes back in a header, which holds nothing else. The value is not repeated in the message. */
export function asciiSecret(name: string, value: string | null): string | null {
  if (value === null || /^[\x21-\x7e]+$/.test(value)) return value;
  throw new ConfigError(`${name} must be ASCII characters without spaces`);
}

/** What signs sessions must not be guessed. The value is not repeated in the message. */
export function longSecret(name: string, value: string | null): string | null {
  if (value === null || value.length >= 32) return value;
  throw new ConfigError(`${name} must have at least 32 characters, random ones`);
}

export function mailAddress(env: Environment, name: string): string | null {
  const value = text(env, name);
  if (value === null || /^[^\p{Cc}]*[^\s<>@]+@[^\s<>@]+>?$/u.test(value)) return value;
  throw new ConfigError(
    `${name} must be an address as \`name@example.com\` or \`Name <name@example.com>\`, not ${quote(value)}`,
  );
}

/** An address that pages link to. @param protocols as `https:` */
export function link(env: Environment, name: string, protocols: string[]): string | null {
  const value = text(env, name);
  if (value === null) return null;
  const isLink = URL.canParse(value) && protocols.includes(new URL(value).protocol) && !/[\s<>"]/.test(value);
  if (isLink && !/^mailto:(?![^@?]+@[^@?]+)/i.test(value)) return value;
  throw new ConfigError(`${name} must be a ${protocols.join(' or ')} address, not ${quote(value)}`);
}

export function networks(env: Environment, name: string): string[] {
  const entries = (text(env, name) ?? '').split(',').map((entry) => entry.trim());
  const wrong = entries.find((entry) => entry !== '' && !isNetwork(entry));
  if (wrong === undefined) return entries.filter((entry) => entry !== '');
  throw new ConfigError(
    `${name} must be addresses or networks as 10.0.0.0/8, with commas between them, not ${quote(wrong)}`,
  );
}

function isNetwork(entry: string): boolean {
  const [address = '', bits, ...rest] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

function quote(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}
