import type { Config } from '../config.ts';
import { isLoopbackHost } from '../loopback.ts';
import type { Log } from '../observability/log.ts';
import { transportWarnings } from './transport-warnings.ts';

/** Logs each warning about the configuration, once at start. */
export function warnAtStart(log: Pick<Log, 'warn'>, config: Config, publicUrl: string): void {
  const warnings = [...startWarnings(config, publicUrl), ...transportWarnings(config)];
  for (const warning of warnings) log.warn(warning);
}

/**
 * Settings that are allowed but likely wrong when other machines can reach the service: with an https `PUBLIC_URL`, or a `HOST`
 * that is not a loopback address. Each warning is one line that names its variable.
 */
export function startWarnings(
  { host, signUp, smtpUrl, trustProxy }: Pick<Config, 'host' | 'signUp' | 'smtpUrl' | 'trustProxy'>,
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
      'TRUST_PROXY is not set: behind a proxy all visitors share its address, and ten failed sign-ins lock everyone out',
    );
  }
  return warnings;
}
