import type { Log } from '../../platform/observability/log.ts';
import { answerOf } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { startInterval } from '../../platform/runtime/interval.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';

const WRITE_EVERY_MS = 15 * SECOND;
/** The most secrets in memory. Further ones are not noted until the next write. */
const MAX_SECRETS = 50_000;

/**
 * Notes when each secret was last used, to the minute. A request costs no statement: the uses of one process are written together,
 * at most once a minute for each secret. A killed process loses those since its last write.
 */
export function createKeyUses(sql: Sql) {
  /** The minute of each secret's last use, in milliseconds since 1970, by its SHA-256 in base64. */
  let uses = new Map<string, number>();

  /** Notes a use of the secret with this SHA-256, in base64. */
  function note(hash: string): void {
    if (uses.size < MAX_SECRETS || uses.has(hash)) uses.set(hash, Date.now());
  }

  /** @throws if Postgres did not take them; they are noted again at their secrets' next use */
  async function write(): Promise<void> {
    if (uses.size === 0) return;
    const written = uses;
    uses = new Map();
    const minutes = [...written.values()].map((ms) => new Date(ms - (ms % MINUTE)).toISOString());
    await answerOf(sql`
      INSERT INTO api_key_uses AS known (secret_sha256, used_at)
      SELECT decode(hash, 'base64'), minute
      FROM unnest(${[...written.keys()]}::text[], ${minutes}::text[]::timestamptz[]) AS used (hash, minute) ORDER BY 1
      ON CONFLICT (secret_sha256) DO UPDATE SET used_at = excluded.used_at WHERE known.used_at < excluded.used_at`);
  }

  /** Starts to write every few seconds. @returns a function that stops this and writes the rest */
  function start(log: Log): () => Promise<void> {
    const writes = startInterval(write, WRITE_EVERY_MS, (error) =>
      log.warn({ err: error }, 'the last uses of keys were not written'),
    );
    return async () => {
      await writes.stop();
      await writes.run();
    };
  }

  return { note, write, start };
}
