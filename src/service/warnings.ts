import { isLoopbackHost, nodesOf, postgresHosts } from '../platform/config/addresses.ts';
import { type Config, oldNameWarnings } from '../platform/config/config.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Sql } from '../platform/postgres/connect.ts';

/** Logs each warning about the configuration, once at start. */
export function warnAtStart(log: Pick<Log, 'warn'>, config: Config, publicUrl: string): void {
  const warnings = [...startWarnings(config, publicUrl), ...transportWarnings(config), ...oldNameWarnings()];
  for (const warning of warnings) log.warn(warning);
}

/** Logs a warning if the service's role in Postgres is a superuser. That of the embedded Postgres is none. */
export async function warnOfSuperuser(sql: Sql, log: Pick<Log, 'warn'>): Promise<void> {
  const roles = await sql`SELECT FROM pg_roles WHERE rolname = current_user AND rolsuper`;
  if (roles.length > 0) {
    log.warn('DATABASE_URL names a superuser: use a role as deploy/postgres-role.sql makes it');
  }
}

/**
 * Settings that are allowed but likely wrong when other machines can reach the service: with an https `PUBLIC_URL`, or a `HOST`
 * that is not a loopback address. Each warning is one line that names its variable.
 */
export function* startWarnings(config: Config, publicUrl: string): Generator<string> {
  const { host, signUp, smtpUrl, trustProxy, metricsToken } = config;
  const { protocol, hostname } = new URL(publicUrl);
  const isPublic = protocol === 'https:' || !isLoopbackHost(host);
  if (protocol === 'http:' && !isLoopbackHost(hostname))
    yield 'PUBLIC_URL is http: keys, passwords and sessions can be read on the way; use https';
  if (isPublic && signUp === 'open' && smtpUrl === null)
    yield 'SIGN_UP is open without SMTP_URL: anyone gets Free accounts, one for each email they make up';
  if (isPublic && trustProxy.length === 0)
    yield 'TRUST_PROXY is not set: behind a proxy all visitors share its address, and with it the limits on sign-ups and pages';
  // TLS ends at a proxy. nginx by default adds no header by which its requests could be told from local ones.
  if (protocol === 'https:' && metricsToken === null)
    yield 'METRICS_TOKEN is not set: a proxy on this machine that adds no header opens /metrics to everyone';
}

/** A line of advice for each configured address on another machine without verified TLS. */
export function* transportWarnings(config: Config): Generator<string> {
  const { databaseUrl, redisUrl, elasticsearchUrl, nifPtUrl, viesUrl, einformaUrl } = config;
  const hosts = databaseUrl === null ? [] : postgresHosts(databaseUrl);
  if (hosts.some(isElsewhere)) {
    const mode = new URL(hosts[0]!).searchParams.getAll('sslmode').at(-1) ?? 'disable';
    if (mode === 'disable') yield 'DATABASE_URL is spoken to in plain text: add sslmode=verify-full';
    if (mode === 'require')
      yield 'DATABASE_URL has sslmode=require, which encrypts but accepts any certificate: use sslmode=verify-full';
  }
  const plain: [string, string[], string][] = [
    ['REDIS_URL', redisUrl === null ? [] : [redisUrl], 'rediss:'],
    ['ELASTICSEARCH_URL', elasticsearchUrl === null ? [] : nodesOf(elasticsearchUrl), 'https:'],
    ['NIF_PT_URL', [nifPtUrl], 'https:'],
    ['VIES_URL', [viesUrl], 'https:'],
    ['EINFORMA_URL', [einformaUrl], 'https:'],
  ];
  for (const [name, addresses, secure] of plain)
    if (addresses.some((address) => isElsewhere(address) && new URL(address).protocol !== secure))
      yield `${name} is spoken to in plain text: use ${secure}`;
}

/** Whether an address is outside this machine and outside a container's network, whose names have no dot. */
function isElsewhere(address: string): boolean {
  const { hostname } = new URL(address);
  return /[.:]/.test(hostname) && !isLoopbackHost(hostname);
}
