/** The endpoint that a credit is spent on. */
export type CallKind = 'search' | 'lookup';

/** One call that needs a credit, or a batch lookup that needs one for each of its items. */
export interface Call {
  accountId: string;
  /** '' for a call made in the dashboard. */
  keyId: string;
  kind: CallKind;
  /** Credits that it needs. */
  credits: number;
  /**
   * Aborted when the client disconnects. A call whose batch has not started by then is free. Bun aborts it, too, when the
   * client pipelines another request on the same connection.
   */
  signal?: AbortSignal;
}

/** An allowance that is used up, and when it is available again. */
export interface Quota {
  /** The included allowance of the period, credits. */
  limit: number;
  resetAt: Date;
  /** Whole seconds until then by Postgres's clock, at least 1. */
  retryAfterS: number;
}

/** The ledger's answer to one call. */
export type Admission = {
  /** Credits that were charged. A batch lookup that is not admitted may have got some for its first items. */
  spent: number;
  /**
   * Returns one of these credits, because what it paid for is answered 503 after all. It is tried until Postgres has
   * acknowledged it; the roll-up returns the credit some seconds later.
   */
  giveBack(): void;
} & ({ admitted: true } | ({ admitted: false } & Quota));
