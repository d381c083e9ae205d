import { type Client, errors } from '@elastic/elasticsearch';
import { isNodeFault } from '../../../platform/elasticsearch/nodes.ts';
import { MINUTE, SECOND } from '../../../platform/units.ts';
import { type DirectoryEntry, searchDocument } from '../../search/document.ts';
import { IndexError } from './indices.ts';

/** An overloaded Elasticsearch (429) answers at once, and gets this time. */
const BUSY_PATIENCE_MS = 5 * MINUTE;
/** An Elasticsearch without an answer gets the time of a node's restart. */
const GONE_PATIENCE_MS = 10 * SECOND;
const PAUSE_MS = 0.5 * SECOND;
/** For one bulk request of a few MB. */
const BULK_TIMEOUT_MS = 2 * MINUTE;

/** Two lines of a bulk request: the action `index`, and the entry. */
export function indexLines(entry: DirectoryEntry): string {
  // Digits need no escaping.
  return `{"index":{"_id":"${entry.nif}"}}\n${JSON.stringify(searchDocument(entry))}\n`;
}

interface BulkAnswer {
  errors?: boolean;
  /** Failed items only (filter_path). */
  items?: Record<string, { error: { type: string; reason: string } }>[];
}

/** Elasticsearch was too busy for some entries, and refused no other one. */
class BusyError extends IndexError {}

/** Monotonic. Tests have one of their own. */
const CLOCK = { nowMs: () => performance.now(), sleep: (ms: number) => Bun.sleep(ms) };

/**
 * Sends one bulk request. It is idempotent, because every document's id is its NIF. A whole request is retried, with pauses,
 * if Elasticsearch is overloaded or away for a moment. The time away counts from the last answer, and the overloaded time from the
 * first failure, so that alternating failures end, too.
 *
 * @throws the last error when that lasts too long, and every error that a retry doesn't repair
 */
export async function sendBulk(
  client: Client,
  index: string,
  lines: Buffer,
  signal: AbortSignal,
  { nowMs, sleep }: typeof CLOCK = CLOCK,
): Promise<void> {
  let failingSinceMs: number | null = null;
  let goneSinceMs: number | null = null;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await sendOnce(client, index, lines, signal);
    } catch (error) {
      signal.throwIfAborted();
      const isGone = isNodeFault(error);
      if (!isGone && !isBusy(error)) throw error;
      failingSinceMs ??= nowMs();
      goneSinceMs = isGone ? (goneSinceMs ?? nowMs()) : null;
      const untilMs =
        goneSinceMs === null ? failingSinceMs + BUSY_PATIENCE_MS : goneSinceMs + GONE_PATIENCE_MS;
      const leftMs = untilMs - nowMs();
      if (leftMs <= 0) throw error;
      // With jitter, so that refused requests don't return together. The last try is at the end of the time.
      await sleep(Math.min(leftMs, PAUSE_MS * (0.5 + Math.random())));
    }
  }
}

async function sendOnce(client: Client, index: string, lines: Buffer, signal: AbortSignal): Promise<void> {
  const answer = (await client.transport.request(
    {
      method: 'POST',
      path: `/${encodeURIComponent(index)}/_bulk`,
      querystring: {
        filter_path: 'errors,items.*.error.type,items.*.error.reason',
        // How long Elasticsearch waits for a shard that no node has any more.
        timeout: `${GONE_PATIENCE_MS}ms`,
      },
      // The client sends bytes as they are, though its types know text only.
      bulkBody: lines as unknown as string,
    },
    { requestTimeout: BULK_TIMEOUT_MS, maxRetries: 0, signal },
  )) as BulkAnswer;
  if (answer.errors !== true) return;
  const failures = (answer.items ?? []).flatMap((item) => Object.values(item)).map(({ error }) => error);
  const lasting = failures.find(({ type }) => type !== 'es_rejected_execution_exception');
  const { type, reason } = lasting ?? failures[0] ?? { type: 'unknown error', reason: '' };
  const message = `Elasticsearch refused an entry: ${type}: ${reason}`;
  throw lasting === undefined ? new BusyError(message) : new IndexError(message);
}

function isBusy(error: unknown): boolean {
  return error instanceof BusyError || (error instanceof errors.ResponseError && error.statusCode === 429);
}
