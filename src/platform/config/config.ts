/**
 * The configuration: one entry for each variable, with its default, its parser and its meaning. docs/configuration.md is
 * made from the entries (`tools/configuration.ts`). Nothing else in `src` reads the environment.
 */
import { SECOND } from '../units.ts';
import { httpUrls } from './addresses.ts';
import {
  anyText,
  asciiSecret,
  ConfigError,
  checkEnvFile,
  creditsPrice,
  type Environment,
  hostName,
  hosts,
  httpAddress,
  httpUrl,
  indexName,
  integer,
  link,
  longSecret,
  mailAddress,
  networks,
  oneOf,
  type Parse,
  priceTexts,
  publicUrl,
  readSecret,
  redisUrl,
  text,
  url,
} from './environment.ts';
import { checkDatabaseUrl, checkTrust } from './tls.ts';

/** nif.pt itself, which is only asked with a key. */
export const DEFAULT_NIF_PT_URL = 'https://www.nif.pt/';

interface Setting<T> {
  name: string;
  /** A secret can also come from the file that `NAME_FILE` names. */
  isSecret: boolean;
  /** The default as the documentation shows it. */
  fallback: string;
  meaning: string;
  read(env: Environment): T;
}

function setting<T>(name: string, fallback: string, parse: Parse<T>, meaning: string): Setting<T> {
  const shown = fallback === '' ? 'none' : `\`${fallback}\``;
  const read = (env: Environment) => {
    const given = text(env, name) === null && isOldName(env, name) ? OLD_NAMES[name]! : name;
    return parse(given, text(env, given) ?? fallback);
  };
  return { name, isSecret: false, fallback: shown, meaning, read };
}

/** The names that variables had in 0.1, by their present ones. They are read until 0.3. */
const OLD_NAMES: Record<string, string> = { ELASTICSEARCH_PREFIX: 'ELASTICSEARCH_ALIAS' };

const isOldName = (env: Environment, name: string) =>
  OLD_NAMES[name] !== undefined && text(env, OLD_NAMES[name]) !== null;

/** A line of advice for each variable that is given under its old name. */
export function oldNameWarnings(env: Environment = process.env): string[] {
  return Object.keys(OLD_NAMES)
    .filter((name) => isOldName(env, name))
    .map((name) => `${OLD_NAMES[name]} is now ${name}: the old name is not read from 0.3 on`);
}

/** A variable that is `null` if it is absent. `absent` is what the documentation shows as its default. */
function optional<T>(
  name: string,
  absent: string,
  parse: Parse<T>,
  meaning: string,
  isSecret = false,
): Setting<T | null> {
  const read = (env: Environment) => {
    const value = isSecret ? readSecret(env, name) : text(env, name);
    return value === null ? null : parse(name, value);
  };
  return { name, isSecret, fallback: absent, meaning, read };
}

function secret<T>(name: string, absent: string, parse: Parse<T>, meaning: string): Setting<T | null> {
  return optional(name, absent, parse, meaning, true);
}

export const SETTINGS = {
  host: setting('HOST', '127.0.0.1', hostName, 'The address that the service listens on.'),
  port: setting('PORT', '3000', integer(0, 65_535), 'Its port. A taken one ends the start (exit code 1).'),
  publicUrl: optional(
    'PUBLIC_URL',
    '`http://HOST:PORT`',
    publicUrl,
    "The service's address in problem types and links, never taken from a request.",
  ),
  databaseUrl: secret(
    'DATABASE_URL',
    'embedded',
    checkDatabaseUrl,
    'Postgres 18 or newer, its database in UTF8. Of several `host:port`, with commas, the primary is used. Without it a Postgres runs under `DATA_DIR`.',
  ),
  elasticsearchUrl: secret(
    'ELASTICSEARCH_URL',
    '–',
    httpUrls,
    'Nodes of Elasticsearch 9, with commas. Without it Postgres searches, with the same results in the same order.',
  ),
  elasticsearchApiKey: secret('ELASTICSEARCH_API_KEY', '–', asciiSecret, 'Sent to Elasticsearch.'),
  elasticsearchPrefix: setting(
    'ELASTICSEARCH_PREFIX',
    'companies',
    indexName,
    'Begins the names of indices. The id of the database follows, so that directories may share it.',
  ),
  searchCacheMb: setting(
    'SEARCH_CACHE_MB',
    '64',
    integer(0, 4096),
    'MiB for answers of searches and matches. `0` means no cache.',
  ),
  redisUrl: secret(
    'REDIS_URL',
    '–',
    redisUrl,
    'Rate-limit buckets of all instances. Without it only one process may run.',
  ),
  dataDir: setting(
    'DATA_DIR',
    '.data',
    anyText,
    'The folder of the embedded Postgres and of `auth-secret`. Only its owner can read it.',
  ),
  nifPtUrl: setting('NIF_PT_URL', DEFAULT_NIF_PT_URL, httpAddress, 'The primary source of company records.'),
  nifPtKey: secret(
    'NIF_PT_KEY',
    '–',
    anyText,
    'Its key. Without one nif.pt counts as failed; another `NIF_PT_URL` is asked without it.',
  ),
  registry: setting(
    'REGISTRY',
    'vies',
    oneOf(['vies', 'einforma', 'none']),
    'The fallback source: `vies` (name and address only), `einforma` or `none`.',
  ),
  viesUrl: setting(
    'VIES_URL',
    'https://ec.europa.eu/taxation_customs/vies/rest-api',
    httpUrl,
    'The address of VIES.',
  ),
  einformaUrl: setting(
    'EINFORMA_URL',
    'https://developers.einforma.com/api/v1',
    httpUrl,
    'The address of eInforma.',
  ),
  einformaClientId: secret('EINFORMA_CLIENT_ID', '–', anyText, 'Needed with `REGISTRY=einforma`.'),
  einformaClientSecret: secret('EINFORMA_CLIENT_SECRET', '–', anyText, 'Needed with `REGISTRY=einforma`.'),
  providerTimeoutMs: setting(
    'PROVIDER_TIMEOUT_MS',
    '5000',
    integer(1, 100 * SECOND),
    'For a whole request to a source. A lookup takes at most twice that and 1 s; above 14000 the claim of an `Idempotency-Key` may end before its answer.',
  ),
  recordMaxAgeS: setting(
    'RECORD_MAX_AGE_S',
    '518400',
    integer(0, 2 ** 31 - 1),
    'A stored record of this age (six days) is refreshed.',
  ),
  refreshesPerDay: optional(
    'REFRESHES_PER_DAY',
    'no bound',
    integer(1, 2 ** 31 - 1),
    'Refreshes of company records a day (UTC) of all accounts; Free accounts may use half. The quota of nif.pt is a good value.',
  ),
  activityDays: setting(
    'ACTIVITY_DAYS',
    '7',
    integer(0, 90),
    'Whole days (UTC), before the present one, of kept activity. `0`: none is written, and there is no `GET /activity`.',
  ),
  debtChanges: setting(
    'DEBT_CHANGES',
    'on',
    oneOf(['on', 'off']),
    '`off`: there is no `POST /debts/changes` and no tool `list_debt_changes`.',
  ),
  expectImportsDays: optional(
    'EXPECT_IMPORTS_DAYS',
    'no alert',
    integer(1, 3650),
    'Days without an import until the rule `DirectoryIsOld` fires.',
  ),
  metricsToken: secret(
    'METRICS_TOKEN',
    '–',
    asciiSecret,
    'The bearer token of `/metrics`. Without it `/metrics` is 404 unless a request goes from loopback to loopback, without a proxy (`Forwarded`, `Via`, `X-Forwarded-For`, `X-Forwarded-Host`, `X-Real-IP`).',
  ),
  authSecret: secret(
    'AUTH_SECRET',
    'made, kept in `DATA_DIR`',
    longSecret,
    '32 characters or more, the same for all instances. Another one ends all sessions, and each second factor needs `account reset-second-factor`.',
  ),
  signUp: setting(
    'SIGN_UP',
    'closed',
    oneOf(['open', 'closed']),
    '`open`: anyone can create a Free account. Set `SMTP_URL` then, so that its email is confirmed first.',
  ),
  secondFactor: setting(
    'SECOND_FACTOR',
    'optional',
    oneOf(['optional', 'owners']),
    '`owners`: every owner needs a second factor (TOTP) for the dashboard.',
  ),
  oauthClientHosts: setting(
    'OAUTH_CLIENT_HOSTS',
    'claude.ai, chatgpt.com',
    hosts,
    'Hosts, with commas, whose agents members can connect by signing in (docs/mcp.md). `*` stands for all.',
  ),
  oauthRegistration: setting(
    'OAUTH_REGISTRATION',
    'off',
    oneOf(['off', 'on']),
    '`on`: agents of any host register themselves, under an unchecked name. For tests, and hosts without metadata documents.',
  ),
  shutdownDelayS: setting(
    'SHUTDOWN_DELAY_S',
    '0',
    integer(0, 300),
    'Seconds from "not ready" to closing the port. Behind a balancer, more than two of its polls of `/health/ready`.',
  ),
  smtpUrl: secret(
    'SMTP_URL',
    '–',
    (name, value) => url(name, value, ['smtp:', 'smtps:']),
    'The mail relay, over TLS; `?ignoreTLS=true` allows plain text to another host. Without it no email is confirmed and no password reset, and `account invite` prints the links.',
  ),
  mailFrom: optional('MAIL_FROM', '`no-reply@` the public host', mailAddress, 'The sender of mails.'),
  trustProxy: setting(
    'TRUST_PROXY',
    '',
    networks,
    'Addresses and networks (`10.0.0.0/8`), with commas, of the proxies whose `X-Forwarded-For` counts.',
  ),
  contact: optional(
    'CONTACT',
    '–',
    link(['mailto:', 'https:']),
    'A `mailto:` or `https:` address, shown to customers who have to ask you.',
  ),
  buyUrl: optional(
    'BUY_URL',
    '–',
    link(['https:']),
    "The https address of your shop; `{account}` in it becomes the account's id. Dashboard, mails about credits and `monthly-quota-exceeded` link it.",
  ),
  plusPrice: optional('PLUS_PRICE', '–', priceTexts, 'The price of Plus (below).'),
  creditsPrice: optional('CREDITS_PRICE', '–', creditsPrice, 'The price of credits (below).'),
  privacyUrl: optional('PRIVACY_URL', '–', link(['https:', 'http:']), page('privacy policy')),
  termsUrl: optional('TERMS_URL', '–', link(['https:', 'http:']), page('terms')),
  statusUrl: optional('STATUS_URL', '–', link(['https:', 'http:']), page('status page')),
};

function page(name: string): string {
  return `Your ${name}, for sign-up and footer.`;
}

export type Config = { [K in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[K]['read']> };

/**
 * The configuration, from the environment alone. An empty value counts as absent.
 *
 * @throws ConfigError for the first value that makes no sense
 */
export function readConfig(env: Environment = process.env): Config {
  checkEnvFile();
  checkTrust(env);
  const entries = Object.entries(SETTINGS).map(([member, { read }]) => [member, read(env)]);
  const config = Object.fromEntries(entries) as Config;
  if (config.registry === 'einforma') {
    if (config.einformaClientId === null)
      throw new ConfigError('EINFORMA_CLIENT_ID is needed when REGISTRY is einforma');
    if (config.einformaClientSecret === null) {
      throw new ConfigError('EINFORMA_CLIENT_SECRET is needed when REGISTRY is einforma');
    }
  }
  return config;
}

/** The default of `PUBLIC_URL`, once the service knows its port. */
export function defaultPublicUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
