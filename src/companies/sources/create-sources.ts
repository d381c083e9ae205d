/**
 * Sources of company records: nif.pt, then VIES or eInforma (one adapter each), with a shared client (`source-client.ts`), a circuit breaker
 * and text cleaning (`clean-text.ts`). No source is trusted: every answer is checked and cleaned, and a fault never holds its text.
 */
import { DEFAULT_NIF_PT_URL } from '../../platform/config/config.ts';
import { createEinforma } from './einforma.ts';
import { createNifPt, type LimitWindow } from './nif-pt.ts';
import type { CompanySource, SourceName, SourcesConfig } from './source-types.ts';
import { createVies } from './vies.ts';

export interface SourcesOptions {
  /** A monotonic clock in milliseconds for limit windows, the circuit breaker and the token's expiry. */
  now?: () => number;
  /** Called for each answer that a limit is reached. @param window the limit's period */
  onLimit?: (source: SourceName, window: LimitWindow) => void;
}

/**
 * The sources in the order in which they are asked: nif.pt (only with a key, or if the URL is not the default), then the
 * registry (docs/configuration.md). The list is empty if neither is configured.
 */
export function createSources(config: SourcesConfig, options: SourcesOptions = {}): CompanySource[] {
  const { now = () => performance.now(), onLimit = () => {} } = options;
  const sources: CompanySource[] = [];
  if (config.nifPtKey !== null || new URL(config.nifPtUrl).href !== DEFAULT_NIF_PT_URL) {
    sources.push(createNifPt(config, now, (window) => onLimit('nif.pt', window)));
  }
  if (config.registry === 'vies') sources.push(createVies(config, now));
  if (config.registry === 'einforma') sources.push(createEinforma(config, now));
  return sources;
}
