import { inspect } from 'node:util';
import { createSources, type SourcesOptions } from '../../../src/companies/sources/create-sources.ts';
import {
  type CompanyDetails,
  type CompanySource,
  SourceError,
  type SourceName,
  type SourcesConfig,
} from '../../../src/companies/sources/source-types.ts';
import { einformaReport, nifPtFound, type Provider, viesFound } from '../../support/provider.ts';

export const NIF = '509442013';
export const SECRET_KEY = 'k3y-that-nobody-may-see';
export const CLIENT_SECRET = 'cl13nt-s3cret';

/** One source alone, speaking to the provider. */
export function sourceAt(
  provider: Provider,
  name: SourceName,
  { now, onLimit, ...overrides }: Partial<SourcesConfig> & SourcesOptions = {},
): CompanySource {
  const config: SourcesConfig = {
    nifPtUrl: name === 'nif.pt' ? `${provider.url}/` : 'https://www.nif.pt/',
    nifPtKey: name === 'nif.pt' ? SECRET_KEY : null,
    registry: name === 'nif.pt' ? 'none' : name,
    viesUrl: `${provider.url}/vies/rest-api`,
    einformaUrl: `${provider.url}/api/v1`,
    einformaClientId: 'client',
    einformaClientSecret: CLIENT_SECRET,
    providerTimeoutMs: 2000,
    ...overrides,
  };
  const sources = createSources(config, { ...(now ? { now } : {}), ...(onLimit ? { onLimit } : {}) });
  if (sources.length !== 1) throw new Error(`one source expected, not ${sources.length}`);
  return sources[0]!;
}

const FOUND: Record<SourceName, (nif: string) => Record<string, unknown>> = {
  'nif.pt': nifPtFound,
  vies: viesFound,
  einforma: einformaReport,
};

/** Every source. */
export const SOURCES = Object.keys(FOUND) as SourceName[];

/** A company in the source's own format. */
export const found = (name: SourceName, nif = NIF) => FOUND[name](nif);

/** The details that the source finds of {@link NIF}. */
export async function detailsOf(source: CompanySource): Promise<CompanyDetails> {
  const answer = await source.find(NIF);
  if (answer.kind !== 'found') throw new Error(`found expected, not ${answer.kind}`);
  return answer.details;
}

/** The fault that a question ends in; anything else fails the test. */
export async function faultOf(question: Promise<unknown>): Promise<SourceError> {
  const outcome = await question.catch((error) => error);
  if (!(outcome instanceof SourceError)) throw new Error(`a SourceError expected, not ${inspect(outcome)}`);
  return outcome;
}

/** Everything that a logger could print of an error. */
export function everythingIn(error: Error): string {
  return [
    inspect(error, { depth: 20, showHidden: true }),
    error.stack,
    String(error),
    JSON.stringify(error),
  ].join('\n');
}

/** A clock that stands still until it is moved. */
export function clock(startMs = 1_000_000) {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}
