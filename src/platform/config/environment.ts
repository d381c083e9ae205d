/** Parsers for single variables. Each refuses a value that makes no sense with one line that names the variable. */
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { codeOf } from '../errors.ts';

/** A value in the environment that makes no sense. The message is one line that names the variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export type Environment = Record<string, string | undefined>;

/** Checks the value of a variable. @throws ConfigError */
export type Parse<T> = (name: string, value: string) => T;

/** The value without white space around it. `null` means absent or empty. */
export function text(env: Environment, name: string): string | null {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? null : value;
}

/**
 * Bun goes on without a `.env` that it can't read, and the command would work on another installation.
 * @throws ConfigError
 */
export function checkEnvFile(path = '.env'): void {
  try {
    readFileSync(path);
  } catch (error) {
    // In a folder that can't be entered nobody knows whether there is one.
    if (codeOf(error) !== 'EACCES' || !existsSync(path)) return;
    throw new ConfigError(".env in the working directory can't be read (EACCES): let this user read it");
  }
}

/** The name of the user that runs this. A container and cron set neither variable, and Bun reads the name from USER alone. */
export function userName(env: Environment = process.env): string {
  const uid = process.getuid?.();
  const known = text(env, 'USER') ?? text(env, 'LOGNAME');
  return known ?? systemUsers().find((user) => user.uid === uid)?.name ?? `uid ${uid}`;
}

/** The users that the system lists in a file; none if it has no such file. */
export function systemUsers(): { name: string; uid: number; gid: number }[] {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    return lines.map((line) => {
      const [name = '', , uid, gid] = line.split(':');
      return { name, uid: Number(uid), gid: Number(gid) };
    });
  } catch {
    return [];
  }
}

/** The value, or the content of the file that `NAME_FILE` names. */
export function readSecret(env: Environment, name: string): string | null {
  const secret = findSecret(env, name);
  // A secret goes into headers and addresses. A line break means that the file has more than the secret in it.
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

export const anyText: Parse<string> = (_, value) => value;

export function integer(min: number, max: number): Parse<number> {
  return (name, value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not ${quote(value)}`);
  };
}

export function oneOf<const T extends string>(choices: readonly T[]): Parse<T> {
  return textThat((value) => choices.includes(value as T), `one of ${choices.join(', ')}`) as Parse<T>;
}

const HTTP = ['http:', 'https:'];

export function httpUrl(name: string, value: string): string {
  return httpAddress(name, value).replace(/\/+$/, '');
}

/** A path is appended to the address, so a query or a fragment would swallow that path. */
export function httpAddress(name: string, value: string): string {
  const address = url(name, value, HTTP);
  if (!/[?#]/.test(address)) return address;
  throw new ConfigError(`${name} must be an address without query and fragment`);
}

/** The address is shown to everyone, so it must not hold a password. */
export function publicUrl(name: string, value: string): string {
  const address = httpUrl(name, value);
  // URL accepts characters that no URI has, such as the brace of a variable that was not filled in.
  if (!/[@\s{}<>"\\^`|]/.test(address)) return address;
  throw new ConfigError(`${name} must be an address without user name, white space, braces and the like`);
}

/** ioredis silently uses database 0 if the path is not the number of a database. */
export function redisUrl(name: string, value: string): string {
  const address = url(name, value, ['redis:', 'rediss:']);
  const { pathname, searchParams } = new URL(address);
  const databases = [pathname.slice(1), searchParams.get('db') ?? ''];
  if (databases.every((database) => /^\d{0,9}$/.test(database))) return address;
  throw new ConfigError(
    `${name} must end with the number of a database, as redis://host:6379/0, or without one`,
  );
}

/** The message does not repeat the value, because it may hold a password. */
export function url(name: string, value: string, protocols: string[]): string {
  const starts = protocols.map((protocol) => `${protocol}//`);
  if (!starts.some((start) => value.toLowerCase().startsWith(start))) {
    throw new ConfigError(`${name} must be an address that begins with ${starts.join(' or ')}`);
  }
  if (!URL.canParse(value)) throw new ConfigError(`${name} is no address: ${likelyCause(value)}`);
  const { username, password, hostname, hash } = new URL(value);
  if (!isPercentEncoded(username + password)) {
    throw new ConfigError(`${name} has a % in its user name or password that must be written as %25`);
  }
  // The clients would use another host than the one that was meant: this machine, or that of a variable of their own.
  if (hostname === '') throw new ConfigError(`${name} is no address: ${NO_HOST}`);
  if (hostname.includes(',')) throw new ConfigError(`${name} is no address: ${MISPLACED_COMMA}`);
  // Some schemes accept it and the clients decode it, which leads to a host that does not exist.
  if (hostname.includes('%')) throw new ConfigError(`${name} has a % in its host name`);
  // The client drops everything behind a #. If a password has one, host and database are lost, too.
  if (hash !== '') throw new ConfigError(`${name} has a #: in a user name or password it is written as %23`);
  return value;
}

const NO_HOST = 'it has no host';
const MISPLACED_COMMA =
  'commas stand between whole addresses in ELASTICSEARCH_URL, between host:port in DATABASE_URL, and nowhere else';

/** Why `URL` can't read an address. Only a `#`, `?` or `/` in a password leaves an `@` behind the host. */
function likelyCause(value: string): string {
  if (value.includes(',')) return MISPLACED_COMMA;
  const [authority = '', ...rest] = value.slice(value.indexOf('//') + 2).split(/[#?/]/);
  if (rest.some((part) => part.includes('@'))) {
    return 'a #, ? or / in a user name or password is written as %23, %3F or %2F';
  }
  const isHostMissing = /^(?:.*@)?(?::\d*)?$/.test(authority);
  return isHostMissing ? NO_HOST : 'its host name or port makes no sense';
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** A text of a certain form. @param form what the variable must be, in words */
function textThat(isRight: (value: string) => boolean, form: string): Parse<string> {
  return (name, value) => {
    if (isRight(value)) return value;
    throw new ConfigError(`${name} must be ${form}, not ${quote(value)}`);
  };
}

export const hostName = textThat(
  // A false IP address (256.1.1.1) fits the pattern, but makes no URL.
  (value) =>
    isIP(value) !== 0 ||
    (/^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i.test(value) && URL.canParse(`http://${value}`)),
  'a host name or an IP address',
);

export const indexName = textThat(
  (value) => /^[a-z][a-z0-9_-]{0,99}$/.test(value),
  'lower-case letters, digits, - and _, beginning with a letter',
);

export const mailAddress = textThat(
  (value) => /^[^\p{Cc}]*[^\s<>@]+@[^\s<>@]+>?$/u.test(value),
  'an address as `name@example.com` or `Name <name@example.com>`',
);

const priceLine = textThat(
  (value) => /^[^|\p{Cc}]{1,100}(?:\|[^|\p{Cc}]{1,100})?$/u.test(value),
  'one line, `English | Portuguese` or one text for both, each of at most 100 characters',
);

/** A price in the languages of pages, which show it as it stands. One text stands in both. */
export function priceTexts(name: string, value: string): { en: string; pt: string } {
  const [en = '', pt = en] = priceLine(name, value)
    .split('|')
    .map((text) => text.trim());
  return { en, pt };
}

/** What so many credits cost. */
export interface Price {
  amount: number;
  /** Of ISO 4217. */
  currency: string;
  credits: number;
}

/** `10 EUR 1000`, and the texts of pages made from it, or texts alone. */
export function creditsPrice(name: string, value: string): { en: string; pt: string; price?: Price } {
  const [, amount, currency, credits] = /^(\d{1,9}(?:\.\d\d?)?) ([A-Z]{3}) ([1-9]\d{0,8})$/.exec(value) ?? [];
  if (currency === undefined) return priceTexts(name, value);
  const price = { amount: Number(amount), currency, credits: Number(credits) };
  // As on pages, where Portuguese has blanks in numbers of four digits, too.
  const useGrouping = 'always' as const;
  const money = { style: 'currency', currency, trailingZeroDisplay: 'stripIfInteger', useGrouping } as const;
  const textIn = (language: string, between: string) =>
    `${price.amount.toLocaleString(language, money)} ${between} ${price.credits.toLocaleString(language, { useGrouping })}`;
  return { en: textIn('en', 'for'), pt: textIn('pt-PT', 'por'), price };
}

/** A header carries it, and headers hold nothing but ASCII. The message does not repeat the value. */
export function asciiSecret(name: string, value: string): string {
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  throw new ConfigError(`${name} must be ASCII characters without spaces`);
}

/** A secret that signs sessions must not be guessable. The message does not repeat the value. */
export function longSecret(name: string, value: string): string {
  if (value.length >= 32) return value;
  throw new ConfigError(`${name} must have at least 32 characters, random ones`);
}

/** An address that pages link to. @param protocols such as `https:` */
export function link(protocols: string[]): Parse<string> {
  return textThat(
    (value) =>
      URL.canParse(value) &&
      protocols.includes(new URL(value).protocol) &&
      !/[\s<>"]|^mailto:(?![^@?]+@[^@?]+)/i.test(value),
    `a ${protocols.join(' or ')} address`,
  );
}

export function networks(name: string, value: string): string[] {
  const entries = value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const wrong = entries.find((entry) => !isNetwork(entry));
  if (wrong === undefined) return entries;
  throw new ConfigError(
    `${name} must be addresses or networks as 10.0.0.0/8, with commas between them, not ${quote(wrong)}`,
  );
}

/** Host names in lower case; `*` alone stands for all. */
export function hosts(name: string, value: string): string[] {
  const entries = value.split(',').map((entry) => entry.trim().toLowerCase());
  if (entries.every((entry) => /^([a-z0-9-]+\.)+[a-z0-9-]+$/.test(entry) || entries.join() === '*'))
    return entries;
  throw new ConfigError(
    `${name} must be host names as claude.ai, with commas between them, or *, not ${quote(value)}`,
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
