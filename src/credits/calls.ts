/** The endpoint that a credit is spent on. */
export type CallKind = 'search' | 'lookup';

/** One call that needs a credit. */
export interface Call {
  accountId: string;
  /** '' for a call made in the dashboard. */
  keyId: string;
  kind: CallKind;
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
      /** The included allowance of the period, credits. */
      limit: number;
      /** When the period ends and the allowance is available again. */
      resetAt: Date;
      /** Whole seconds until then by Postgres's clock, at least 1. */
      retryAfterS: number;
    };

/** Calls of one account, by one key and of one kind: one element of a statement's arrays. */
export interface CallGroup extends Omit<Call, 'signal'> {
  calls: Call[];
}

/** Groups calls by account, key and kind, in the order in which each first appears. */
export function groupCalls(calls: Call[]): CallGroup[] {
  const groups = new Map<string, CallGroup>();
  for (const call of calls) {
    const { accountId, keyId, kind } = call;
    const id = `${accountId} ${keyId} ${kind}`;
    const group = groups.get(id);
    if (group === undefined) groups.set(id, { accountId, keyId, kind, calls: [call] });
    else group.calls.push(call);
  }
  return [...groups.values()];
}
