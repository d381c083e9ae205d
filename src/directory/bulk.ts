import { type Client, errors } from '@elastic/elasticsearch';
import { isNodeFault } from '../elasticsearch/nodes.ts';
import { searchDocument } from '../search/document.ts';
import { MINUTE, SECOND } from '../units.ts';

/** An overloaded Elasticsearch (429) answers at once, and gets this time, with growing pauses. */
const BUSY_PATIENCE_MS = 5 * MINUTE;
/** An Elasticsearch without an answer gets the time of a node's restart. */
const GONE_PATIENCE_MS = 10 * SECOND;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10 * SECOND;
/** For one bulk request of a few MB. */
const BULK_TIMEOUT_MS = 2 * MINUTE;

/** Two lines of a bulk request: one that indexes an entry, and the entry. */
export function indexLines(nif: string, legalName: string): string {
  // Digits need no escaping.
  return `{"index":{"_id":"${nif}"}}\n${JSON.stringify(searchDocument(nif, legalName))}\n`;
}

export function deleteLine(nif: string): string {
  return `{"delete":{"_id":"${nif}"}}\n`;
}

interface BulkAnswer {
  errors?: boolean;
  /** Failed items only (filter_path). */
  items?: Record<string, { error?: { type?: string; reason?: string } }>[];
}

export interface Clock {
  /** Monotonic. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

const CLOCK: Clock = { nowMs: () => performance.now(), sleep: (ms) => Bun.sleep(ms) };

/**
 * Sends one bulk request. It is idempotent, because every document's id is its NIF. A whole request is retried, with pauses,
 * if Elasticsearch is overloaded or away for a moment. The time away counts from the first such failure since the last
 * answer. The overloaded time counts from the first failure of all, so that alternating failures end, too.
 *
 * @throws the last error when that lasts too long, and every error that a retry doesn't repair
 */
export async function sendBulk(
  client: Client,
  index: string,
  lines: Buffer,
  signal: AbortSignal,
  { nowMs, sleep }: Clock = CLOCK,
): Promise<void> {
  let failingSinceMs: number | null = null;
  let goneSinceMs: number | null = null;
  let pauseMs = FIRST_PAUSE_MS;
  let before: Failure['kind'] | null = null;
  for (;;) {
    signal.throwIfAborted();
    const failure = await sendOnce(client, index, lines, signal);
    if (failure === null) return;
    const { kind, error } = failure;
    if (kind === 'wrong') throw error;
    // After an overload the pauses start small again; its long ones would leave an outage a single try.
    pauseMs = kind === before ? Math.min(pauseMs * 2, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
    before = kind;
    failingSinceMs ??= nowMs();
    goneSinceMs = kind === 'gone' ? (goneSinceMs ?? nowMs()) : null;
    const untilMs = goneSinceMs === null ? failingSinceMs + BUSY_PATIENCE_MS : goneSinceMs + GONE_PATIENCE_MS;
    const leftMs = untilMs - nowMs();
    if (leftMs <= 0) throw error;
    // With jitter, so that refused requests don't return together. The last try is at the end of the time.
    await sleep(Math.min(leftMs, pauseMs * (0.5 + Math.random() / 2)));
  }
}

interface Failure {
  kind: 'busy' | 'gone' | 'wrong';
  error: unknown;
}

async function sendOnce(
  client: Client,
  index: string,
  lines: Buffer,
  signal: AbortSignal,
): Promise<Failure | null> {
  let answer: BulkAnswer;
  try {
    answer = (await client.transport.request(
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
  } catch (error) {
    signal.throwIfAborted();
    return { kind: kindOf(error), error };
  }
  if (answer.errors !== true) return null;
  const failures = (answer.items ?? []).flatMap((item) => Object.values(item)).map(({ error }) => error);
  const lasting = failures.find((error) => error?.type !== 'es_rejected_execution_exception');
  const shown = lasting ?? failures[0];
  return {
    kind: lasting === undefined ? 'busy' : 'wrong',
    error: new Error(
      `Elasticsearch refused an entry: ${shown?.type ?? 'unknown error'}: ${shown?.reason ?? ''}`,
    ),
  };
}

function kindOf(error: unknown): Failure['kind'] {
  if (error instanceof errors.ResponseError && error.statusCode === 429) return 'busy';
  return isNodeFault(error) ? 'gone' : 'wrong';
}
