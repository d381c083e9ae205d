/**
 * What a source says of a company. Every text member is clean (no tags, entities or control characters)
 * and '' when the source doesn't supply it; `capital` is a decimal string, '0' when unknown, and
 * `capitalCurrency` is 'EUR' when unknown (specification, "Company record").
 */
export interface CompanyDetails {
  title: string;
  address: string;
  zipcode: string;
  city: string;
  activity: string;
  status: string;
  cae: string;
  nature: string;
  capital: string;
  capitalCurrency: string;
}

export type SourceName = 'nif.pt' | 'vies' | 'einforma';

/**
 * An answer of a healthy source. `not-found` is definite (a 404 of ours); `unknown` means that the source works
 * but can't tell, as VIES for a company that isn't registered there (contract: not found).
 */
export type SourceAnswer =
  | { kind: 'found'; details: CompanyDetails }
  | { kind: 'not-found' }
  | { kind: 'unknown' };

/** Why a source failed, in our own words: nothing that a provider sends ends up in here. */
export type FaultReason =
  | 'timeout'
  | 'unreachable'
  /** Its TLS certificate is not accepted: expired, for another host, or of an authority that is not trusted. */
  | 'certificate'
  | 'redirect'
  | 'http-status'
  | 'too-large'
  /** Not a JSON object in UTF-8, or packed in a way that we can't unpack. */
  | 'unreadable'
  /** A JSON object, but not one of the forms that this source is known to answer with. */
  | 'unexpected'
  /** The source itself says that it couldn't answer. */
  | 'provider-error'
  | 'wrong-company'
  | 'limit'
  | 'bad-key'
  /** Not asked: it named a limit whose window isn't over, or the circuit breaker is open. */
  | 'skipped';

/**
 * A source could not answer; the lookup moves on to the fallback (contract: not found). It never has a `cause`: what undici throws
 * can hold the URL, and nif.pt's URL holds the key.
 */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  readonly source: SourceName;
  readonly reason: FaultReason;

  constructor(source: SourceName, reason: FaultReason) {
    super(`${source}: ${reason}`);
    this.source = source;
    this.reason = reason;
  }
}

/** A place that knows companies. `find` takes nine digits and throws nothing but SourceFault. */
export interface CompanySource {
  readonly name: SourceName;
  find(nif: string): Promise<SourceAnswer>;
  /** Drops every connection; whatever is still being asked fails as `unreachable`. */
  close(): Promise<void>;
}
