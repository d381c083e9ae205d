import { type Static, type TObject, Type } from '@sinclair/typebox';
import type { Config } from '../../platform/config/config.ts';

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

/**
 * The members of a company record that come from a source (specification, Company record). Every text is clean (no tags, entities
 * or control characters), and '' if the source doesn't supply it.
 */
export const DETAILS_SCHEMA = {
  title: Type.String({ description: 'Legal name.' }),
  address: Type.String({ description: 'Address.' }),
  zipcode: Type.String({ description: 'Postal code.' }),
  city: Type.String({ description: 'City or locality.' }),
  activity: Type.String({ description: 'Activity description.' }),
  status: Type.String({ description: 'Status text of the data provider; free text.' }),
  cae: Type.String({ description: 'Primary economic activity code.' }),
  structure: Type.Object(
    {
      nature: Type.String({ description: 'Legal nature.' }),
      capital: Type.String({ description: 'Share capital, a decimal string; `0` when not supplied.' }),
      capital_currency: Type.String({ description: 'Currency of the capital; `EUR` when not supplied.' }),
    },
    { $id: 'CompanyStructure' },
  ),
};
export type CompanyDetails = Static<TObject<typeof DETAILS_SCHEMA>>;

export type SourceName = 'nif.pt' | 'vies' | 'einforma';

/**
 * An answer of a healthy source. `not-found` is definite and becomes our 404. `unknown` means that the source can't tell, as
 * VIES about a company that isn't registered there (docs/api.md: not found).
 */
export type SourceAnswer =
  | { kind: 'found'; details: CompanyDetails }
  | { kind: 'not-found' }
  | { kind: 'unknown' };

/** The reason of a fault, in our words. It never holds text of a provider. */
const ERROR_REASONS = [
  'timeout',
  'unreachable',
  /** Its TLS certificate has expired, is for another host, or is of an authority that is not trusted. */
  'certificate',
  'redirect',
  'http-status',
  'too-large',
  /** Not a JSON object in UTF-8; compressed, though no compression was asked for. */
  'unreadable',
  /** A JSON object of an unknown form. */
  'unexpected',
  /** The source itself says that it couldn't answer. */
  'provider-error',
  'wrong-company',
  'limit',
  'bad-key',
  /** Our own fault: no connection was free within the time, or this process was too busy to read the answer. */
  'busy',
  /** Not asked, because the window of its limit isn't over, or the circuit breaker is open. */
  'skipped',
] as const;
export type SourceErrorReason = (typeof ERROR_REASONS)[number];

/** The outcomes of a question to a source. */
export const SOURCE_OUTCOMES = ['found', 'not-found', 'unknown', ...ERROR_REASONS] as const;

/**
 * A source could not answer, so the lookup asks the fallback (docs/api.md: not found). It never has a `cause`, because undici's
 * errors can hold the URL, and nif.pt's URL holds the key.
 */
export class SourceError extends Error {
  override readonly name = 'SourceError';

  constructor(
    readonly source: SourceName,
    readonly reason: SourceErrorReason,
  ) {
    super(`${source}: ${reason}`);
  }
}

/** Whether a question failed at the source. Otherwise it was not asked, or this process is to blame. */
export function isOfSource(error: unknown): error is SourceError {
  return error instanceof SourceError && error.reason !== 'busy' && error.reason !== 'skipped';
}

/** Lets a request to a source be sent. If it throws, the request is not sent, and `find` throws the same. */
export type Permit = () => Promise<void>;

/** A provider of company records. */
export interface CompanySource {
  readonly name: SourceName;
  /**
   * @param nif nine digits
   * @param permit called right before each request; by default every request is sent
   * @throws SourceError, or what `permit` has thrown
   */
  find(nif: string, permit?: Permit): Promise<SourceAnswer>;
  /** Drops every connection. Requests in flight fail as `unreachable`. */
  close(): Promise<void>;
}
