import { httpUrls } from './addresses.ts';
import {
  asciiSecret,
  ConfigError,
  type Environment,
  hostName,
  httpAddress,
  httpUrl,
  indexName,
  integer,
  link,
  longSecret,
  mailAddress,
  networks,
  oneOf,
  publicUrl,
  readSecret,
  redisUrl,
  text,
  url,
} from './environment.ts';
import { checkTrust, databaseUrl } from './tls.ts';
import { DAY, SECOND } from './units.ts';

export interface Config {
  host: string;
  port: number;
  /** The service's own address, without a slash at its end; null: made of host and port once it listens. */
  publicUrl: string | null;
  /** One `host:port` or several, of which the primary is used; null: the embedded Postgres under `dataDir`. */
  databaseUrl: string | null;
  /** Its nodes with commas between them (`nodesOf`); null: search by an index in Postgres. */
  elasticsearchUrl: string | null;
  elasticsearchApiKey: string | null;
  /** The alias that searches go to; indices are named after it. */
  elasticsearchAlias: string;
  /** Memory for answers of searches, MiB; 0: none are kept. */
  searchCacheMb: number;
  /** null: buckets in the process, and then one process only. */
  redisUrl: string | null;
  dataDir: string;
  nifPtUrl: string;
  nifPtKey: string | null;
  registry: 'vies' | 'einforma' | 'none';
  viesUrl: string;
  einformaUrl: string;
  einformaClientId: string | null;
  einformaClientSecret: string | null;
  /** For each provider whole: connection, token, headers and body together. */
  providerTimeoutMs: number;
  recordMaxAgeS: number;
  metricsToken: string | null;
  /** Signs the dashboard's sessions; null: one is made and kept in `dataDir`. */
  authSecret: string | null;
  /** `open`: anyone can create a Free account in the dashboard. `closed`: only an invitation opens it. */
  signUp: 'open' | 'closed';
  /** Seconds between "not ready" and closing the port, for balancers that poll readiness. */
  shutdownDelayS: number;
  /** null: the dashboard sends no mail, and so confirms no email and resets no password. */
  smtpUrl: string | null;
  /** Sender of the dashboard's mail; null: `no-reply@` the host of the public address. */
  mailFrom: string | null;
  /** Addresses and networks (`10.0.0.0/8`) of the proxies whose `X-Forwarded-For` counts. */
  trustProxy: string[];
  /** A `mailto:` or `https:` address, shown wherever a customer is told to ask the operator. */
  contact: string | null;
  privacyUrl: string | null;
  termsUrl: string | null;
  statusUrl: string | null;
}

/**
 * The configuration, from the environment alone (contract, Configuration). Every secret can also come from the file
 * that `NAME_FILE` names. An empty value counts as absent.
 *
 * @throws ConfigError for the first value that makes no sense
 */
export function readConfig(env: Environment = process.env): Config {
  checkTrust(env);
  const secret = (name: string) => readSecret(env, name);
  const registry = oneOf(env, 'REGISTRY', ['vies', 'einforma', 'none'], 'vies');
  const config: Config = {
    host: hostName(env, 'HOST', '127.0.0.1'),
    port: integer(env, 'PORT', { min: 0, max: 65_535, fallback: 3000 }),
    publicUrl: publicUrl('PUBLIC_URL', text(env, 'PUBLIC_URL')),
    databaseUrl: databaseUrl('DATABASE_URL', secret('DATABASE_URL')),
    elasticsearchUrl: httpUrls('ELASTICSEARCH_URL', secret('ELASTICSEARCH_URL')),
    elasticsearchApiKey: secret('ELASTICSEARCH_API_KEY'),
    elasticsearchAlias: indexName(env, 'ELASTICSEARCH_ALIAS', 'companies'),
    searchCacheMb: integer(env, 'SEARCH_CACHE_MB', { min: 0, max: 4096, fallback: 64 }),
    redisUrl: redisUrl('REDIS_URL', secret('REDIS_URL')),
    dataDir: text(env, 'DATA_DIR') ?? '.data',
    nifPtUrl: httpAddress('NIF_PT_URL', text(env, 'NIF_PT_URL')) ?? DEFAULT_NIF_PT_URL,
    nifPtKey: secret('NIF_PT_KEY'),
    registry,
    viesUrl:
      httpUrl('VIES_URL', text(env, 'VIES_URL')) ?? 'https://ec.europa.eu/taxation_customs/vies/rest-api',
    einformaUrl:
      httpUrl('EINFORMA_URL', text(env, 'EINFORMA_URL')) ?? 'https://developers.einforma.com/api/v1',
    einformaClientId: secret('EINFORMA_CLIENT_ID'),
    einformaClientSecret: secret('EINFORMA_CLIENT_SECRET'),
    providerTimeoutMs: integer(env, 'PROVIDER_TIMEOUT_MS', {
      min: 1,
      max: 100 * SECOND,
      fallback: 5 * SECOND,
    }),
    recordMaxAgeS: integer(env, 'RECORD_MAX_AGE_S', {
      min: 0,
      max: 2 ** 31 - 1,
      fallback: (6 * DAY) / SECOND,
    }),
    metricsToken: asciiSecret('METRICS_TOKEN', secret('METRICS_TOKEN')),
    authSecret: longSecret('AUTH_SECRET', secret('AUTH_SECRET')),
    signUp: oneOf(env, 'SIGN_UP', ['open', 'closed'], 'closed'),
    shutdownDelayS: integer(env, 'SHUTDOWN_DELAY_S', { min: 0, max: 300, fallback: 0 }),
    smtpUrl: url('SMTP_URL', secret('SMTP_URL'), ['smtp:', 'smtps:']),
    mailFrom: mailAddress(env, 'MAIL_FROM'),
    trustProxy: networks(env, 'TRUST_PROXY'),
    contact: link(env, 'CONTACT', ['mailto:', 'https:']),
    privacyUrl: link(env, 'PRIVACY_URL', ['https:', 'http:']),
    termsUrl: link(env, 'TERMS_URL', ['https:', 'http:']),
    statusUrl: link(env, 'STATUS_URL', ['https:', 'http:']),
  };
  if (registry === 'einforma') {
    if (config.einformaClientId === null)
      throw new ConfigError('EINFORMA_CLIENT_ID is needed when REGISTRY is einforma');
    if (config.einformaClientSecret === null) {
      throw new ConfigError('EINFORMA_CLIENT_SECRET is needed when REGISTRY is einforma');
    }
  }
  return config;
}

/** nif.pt itself; it is asked only with a key. */
export const DEFAULT_NIF_PT_URL = 'https://www.nif.pt/';

/** The contract's default of `PUBLIC_URL`. */
export function defaultPublicUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
