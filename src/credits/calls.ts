/** The endpoint that a credit is spent on. */
export type CallKind = 'search' | 'lookup';

/** One call that needs a credit, or a batch lookup that needs one for each of its items. */
export interface Call {
  accountId: string;
  /** '' for a call made in the dashboard. */
  keyId: string;
  kind: CallKind;
  /** Credits that it needs; 1 when absent. */
  credits?: number;
  /**
   * Aborted when the client disconnects. A call whose batch has not started by then is free. Bun aborts it, too, when the
   * client pipelines another request on the same connection.
   */
  signal?: AbortSignal;
}

/** The ledger's answer to one call. */
export type Admission =
  | {
      admitted: true;
      /** UUID of the statement that charged it. */
      attempt: string;
    }
  | {
      admitted: false;
      /** UUID of the statement that charged the credits of `spent`. */
      attempt: string;
      /** Credits that were charged nevertheless, for the first items of a batch lookup; 0 for a single call. */
      spent: number;
      /** The included allowance of the period, credits. */
      limit: number;
      /** When the period ends and the allowance is available again. */
      resetAt: Date;
      /** Whole seconds until then by Postgres's clock, at least 1. */
      retryAfterS: number;
    };

/** Calls of one account, by one key and of one kind: one element of a statement's arrays. */
export interface CallGroup extends Omit<Call, 'signal' | 'credits'> {
  calls: Call[];
  /** The sum of their credits. */
  credits: number;
}

/** How many credits a call needs. */
export const creditsOf = ({ credits = 1 }: Call): number => credits;

/** Groups calls by account, key and kind, in the order in which each first appears. */
export function groupCalls(calls: Call[]): CallGroup[] {
  const groups = new Map<string, CallGroup>();
  for (const call of calls) {
    const { accountId, keyId, kind } = call;
    const id = `${accountId} ${keyId} ${kind}`;
    const group = groups.get(id);
    if (group === undefined)
      groups.set(id, { accountId, keyId, kind, calls: [call], credits: creditsOf(call) });
    else {
      group.calls.push(call);
      group.credits += creditsOf(call);
    }
  }
  return [...groups.values()];
}
