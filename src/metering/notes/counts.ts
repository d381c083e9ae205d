import { type ErrorKind, errorKindOf } from '../../http/error-kind.ts';
import type { ProblemName } from '../../http/problems.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { HOUR, MINUTE } from '../../platform/units.ts';
import type { Owner } from '../credits/call.ts';
import { addDailyCounts } from '../credits/daily-counts.ts';

/** The most counters of a write. Further ones are not counted until the next write. */
const MAX_COUNTERS = 10_000;
/** The most secrets in memory. Beyond them all are forgotten, and written once more. */
const MAX_SECRETS = 50_000;

interface Counter extends Owner {
  kind: ErrorKind;
  /** UTC, by this process's clock: hours since 1970. As a text it took 3% of a refusal. */
  hour: number;
  calls: number;
  credits: number;
}

interface Taken {
  counters: Counter[];
  /** The minute of the last use of each secret, since 1970, by its SHA-256 in base64. */
  uses: [hash: string, minute: number][];
}

/** The uses of secrets and the error answers of one process. @param maxCounters for tests */
export function createCounts(sql: Sql, maxCounters = MAX_COUNTERS) {
  const counters = new Map<string, Counter>();
  /** The minute of each secret's last use, so that a secret is written once a minute. */
  const known = new Map<string, number>();
  const uses = new Map<string, number>();

  /** Notes a use of the secret with this SHA-256, in base64. */
  function used(hash: string): void {
    const minute = Math.floor(Date.now() / MINUTE);
    if (known.get(hash) === minute) return;
    if (known.size >= MAX_SECRETS) known.clear();
    known.set(hash, minute);
    uses.set(hash, minute);
  }

  /** Counts an error answer. @param credits that it cost */
  function add({ accountId, keyId }: Owner, problem: ProblemName, credits: number): void {
    const kind = errorKindOf(problem);
    const hour = Math.floor(Date.now() / HOUR);
    const id = `${accountId} ${hour} ${keyId} ${kind}`;
    const earlier = counters.get(id);
    if (earlier !== undefined) {
      earlier.calls += 1;
      earlier.credits += credits;
    } else if (counters.size < maxCounters)
      counters.set(id, { accountId, keyId, kind, hour, calls: 1, credits });
  }

  function take(): Taken | null {
    if (counters.size === 0 && uses.size === 0) return null;
    const taken = { counters: [...counters.values()], uses: [...uses] };
    counters.clear();
    uses.clear();
    return taken;
  }

  return { used, add, take, store: (taken: Taken) => storeCounts(sql, taken) };
}

/**
 * Adds counters of accounts that are not deleted, and moves the last uses of secrets forward. It waits for no lock of an account, so a
 * write at the moment of a deletion may leave counts of the deleted account. They hold no name. Uses are locked before counts, each in
 * their order, as a deletion does.
 */
function storeCounts(sql: Sql, { counters, uses }: Taken) {
  return sql`
    WITH used AS (
      INSERT INTO api_key_uses AS known (secret_sha256, used_at)
      SELECT decode(hash, 'base64'), to_timestamp(minute * 60::float8)
      FROM unnest(${uses.map(([hash]) => hash)}::text[], ${uses.map(([, minute]) => minute)}::bigint[]) AS used (hash, minute) ORDER BY 1
      ON CONFLICT (secret_sha256) DO UPDATE SET used_at = excluded.used_at WHERE known.used_at < excluded.used_at
      RETURNING 1
    ), uses AS MATERIALIZED (SELECT count(*) FROM used)
    ${addDailyCounts(
      sql,
      sql`
        SELECT accounts.id AS account_id, to_timestamp(hour * 3600::float8) AS at, "keyId" AS key_id, kind, calls, credits
        FROM jsonb_to_recordset(${sql.json(counters as never)})
          AS counter ("accountId" text, hour integer, "keyId" text, kind text, calls bigint, credits bigint)
          JOIN accounts ON accounts.id = "accountId" AND deleted_at IS NULL
        WHERE (SELECT count FROM uses) IS NOT NULL`,
      { areErrors: true },
    )}`;
}
