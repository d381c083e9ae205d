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
export function startWarnings(
  { host, signUp, smtpUrl, trustProxy, metricsToken }: Config,
  publicUrl: string,
): string[] {
  const { protocol, hostname } = new URL(publicUrl);
  const isPublic = protocol === 'https:' || !isLoopbackHost(host);
  const warnings: string[] = [];
  if (protocol === 'http:' && !isLoopbackHost(hostname)) {
    warnings.push('PUBLIC_URL is http: keys, passwords and sessions can be read on the way; use https');
  }
  if (isPublic && signUp === 'open' && smtpUrl === null) {
    warnings.push(
      'SIGN_UP is open without SMTP_URL: anyone gets Free accounts, one for each email they make up',
    );
  }
  if (isPublic && trustProxy.length === 0) {
    warnings.push(
      'TRUST_PROXY is not set: behind a proxy all visitors share its address, and with it the limits on sign-ups and pages',
    );
  }
  // TLS ends at a proxy. nginx by default adds no header by which its requests could be told from local ones.
  if (protocol === 'https:' && metricsToken === null) {
    warnings.push(
      'METRICS_TOKEN is not set: a proxy on this machine that adds no header opens /metrics to everyone',
    );
  }
  return warnings;
}

/** A line of advice for each configured address on another machine without verified TLS. */
export function transportWarnings(config: Config): string[] {
  const plain: [string, string[], string][] = [
    ['REDIS_URL', config.redisUrl === null ? [] : [config.redisUrl], 'rediss:'],
    ['ELASTICSEARCH_URL', config.elasticsearchUrl === null ? [] : nodesOf(config.elasticsearchUrl), 'https:'],
    ['NIF_PT_URL', [config.nifPtUrl], 'https:'],
    ['VIES_URL', [config.viesUrl], 'https:'],
    ['EINFORMA_URL', [config.einformaUrl], 'https:'],
  ];
  const warnings = plain
    .filter(([, addresses, secure]) =>
      addresses.some((address) => isElsewhere(address) && !isOf(address, secure)),
    )
    .map(([name, , secure]) => `${name} is spoken to in plain text: use ${secure}`);
  const postgres = config.databaseUrl === null ? null : postgresWarning(config.databaseUrl);
  return postgres === null ? warnings : [postgres, ...warnings];
}

function postgresWarning(address: string): string | null {
  const hosts = postgresHosts(address);
  if (!hosts.some(isElsewhere)) return null;
  const mode = new URL(hosts[0]!).searchParams.getAll('sslmode').at(-1) ?? 'disable';
  if (mode === 'disable') return 'DATABASE_URL is spoken to in plain text: add sslmode=verify-full';
  if (mode === 'require') {
    return 'DATABASE_URL has sslmode=require, which encrypts but accepts any certificate: use sslmode=verify-full';
  }
  return null;
}

const isOf = (address: string, protocol: string) => new URL(address).protocol === protocol;

/** Whether an address is outside this machine and outside a container's network, whose names have no dot. */
function isElsewhere(address: string): boolean {
  const { hostname } = new URL(address);
  return /[.:]/.test(hostname) && !isLoopbackHost(hostname);
}
