import type { Config } from '../config.ts';
import type { CompanySource, SourceName } from './answer.ts';
import { createEinforma } from './einforma.ts';
import { createNifPt, isDefaultNifPtUrl, type LimitWindow } from './nif-pt.ts';
import { createVies } from './vies.ts';

/** The part of the configuration that says whom to ask (contract, "Configuration"). */
export type SourcesConfig = Pick<
  Config,
  | 'nifPtUrl'
  | 'nifPtKey'
  | 'registry'
  | 'viesUrl'
  | 'einformaUrl'
  | 'einformaClientId'
  | 'einformaClientSecret'
  | 'providerTimeoutMs'
>;

export interface SourcesOptions {
  /** A clock in milliseconds that never runs backwards; it drives limit windows, the circuit breaker and the token's expiry, not the time-outs. */
  now?: () => number;
  /** Told of each answer that a limit is reached. @param window what the limit counts in */
  onLimit?: (source: SourceName, window: LimitWindow) => void;
}

/**
 * The sources in the order in which they are asked: nif.pt (only with a key, or when the URL is another than the
 * default), then the registry (contract, "Configuration"). The list is empty when neither is configured.
 */
export function createSources(config: SourcesConfig, options: SourcesOptions = {}): CompanySource[] {
  const { now = () => performance.now(), onLimit = () => {} } = options;
  const timeoutMs = config.providerTimeoutMs;
  const sources: CompanySource[] = [];
  if (config.nifPtKey !== null || !isDefaultNifPtUrl(config.nifPtUrl)) {
    sources.push(
      createNifPt({
        url: config.nifPtUrl,
        key: config.nifPtKey,
        timeoutMs,
        now,
        onLimit: (window) => onLimit('nif.pt', window),
      }),
    );
  }
  if (config.registry === 'vies') sources.push(createVies({ url: config.viesUrl, timeoutMs, now }));
  if (config.registry === 'einforma') {
    const { einformaUrl: url, einformaClientId, einformaClientSecret } = config;
    // readConfig refuses this registry without them.
    const credentials = { clientId: einformaClientId!, clientSecret: einformaClientSecret! };
    sources.push(createEinforma({ url, ...credentials, timeoutMs, now }));
  }
  return sources;
}
