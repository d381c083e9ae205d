import { expect } from 'bun:test';
import { inspect } from 'node:util';
import { createSources, type SourcesOptions } from '../../../src/companies/sources/create-sources.ts';
import {
  type CompanySource,
  SourceError,
  type SourceName,
  type SourcesConfig,
} from '../../../src/companies/sources/source-types.ts';
import { einformaReport, nifPtFound, type Provider, viesFound } from '../../support/provider.ts';
import { stopClock } from '../../support/stopped-clock.ts';

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

const FOUND: Record<SourceName, typeof nifPtFound> = {
  'nif.pt': nifPtFound,
  vies: viesFound,
  einforma: einformaReport,
};

/** Every source. */
export const SOURCES = Object.keys(FOUND) as SourceName[];

/** A company in the source's own format. @param members of its record that are others */
export const found = (name: SourceName, nif = NIF, members = {}) => FOUND[name](nif, members);

/** The fault that a question ends in; anything else fails the test. */
export async function faultOf(question: Promise<unknown>): Promise<SourceError> {
  const outcome = await question.catch((error) => error);
  if (!(outcome instanceof SourceError)) throw new Error(`a SourceError expected, not ${inspect(outcome)}`);
  return outcome;
}

/** The fault of a question that takes all of its time. With a stopped clock it is no fault of this process, however busy that is. */
export async function timeoutOf(question: Promise<unknown>): Promise<SourceError> {
  const { restore } = stopClock();
  const fault = await faultOf(question).finally(restore);
  expect(fault.reason).toBe('timeout');
  return fault;
}

/** Checks that a logger could print nothing of a provider, of the NIF and of a secret. */
export function expectNothingOfTheirs(error: Error, { url }: Provider): void {
  const text = [inspect(error, { depth: 20, showHidden: true }), error.stack, JSON.stringify(error)].join(
    '\n',
  );
  const theirs = [SECRET_KEY, CLIENT_SECRET, 'SECRET-OF-THE-PROVIDER', url, NIF, 'token-1', 'undici'];
  for (const secret of theirs) expect(text).not.toContain(secret);
  expect(error.cause).toBeUndefined();
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
