import { type Client, errors } from '@elastic/elasticsearch';
import { searchDocument } from '../search/document.ts';
import { MINUTE, SECOND } from '../units.ts';

/** Elasticsearch is busy (429): it says so at once, and gets the time it needs, with growing pauses. */
const BUSY_PATIENCE_MS = 5 * MINUTE;
/** Elasticsearch doesn't answer: a restart of a node is waited for, no more. */
const GONE_PATIENCE_MS = 10 * SECOND;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10 * SECOND;
/** For one bulk request of a few MB. */
const BULK_TIMEOUT_MS = 2 * MINUTE;

/** One line of a bulk request that indexes an entry, and one that is the entry. */
export function indexLines(nif: string, legalName: string): string {
  // Digits need no escaping; everything else is the document's.
  return `{"index":{"_id":"${nif}"}}\n${JSON.stringify(searchDocument(nif, legalName))}\n`;
}

/** A line of a bulk request that removes an entry. */
export function deleteLine(nif: string): string {
  return `{"delete":{"_id":"${nif}"}}\n`;
}

interface BulkAnswer {
  errors?: boolean;
  /** Failed items only (filter_path). */
  items?: Record<string, { error?: { type?: string; reason?: string } }>[];
}

/**
 * Sends one bulk request. Every entry's document id is its NIF, so that a request can be repeated: a whole one is, with
 * pauses, where Elasticsearch is too busy or away for a moment.
 *
 * @throws the last error when that lasts too long, and for anything that repeating doesn't mend
 */
export async function sendBulk(
  client: Client,
  index: string,
  lines: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = Date.now();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    const failure = await sendOnce(client, index, lines, signal);
    if (failure === null) return;
    const patienceMs = { busy: BUSY_PATIENCE_MS, gone: GONE_PATIENCE_MS, wrong: 0 }[failure.kind];
    if (Date.now() - startedAt + pauseMs > patienceMs) throw failure.error;
    // A little apart, or all that were turned away come back together.
    await Bun.sleep(pauseMs * (0.5 + Math.random() / 2));
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
        querystring: { filter_path: 'errors,items.*.error.type,items.*.error.reason' },
        // Bytes are sent as they are; the client's types know text only.
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
  if (error instanceof errors.ResponseError) {
    if (error.statusCode === 429) return 'busy';
    return [502, 503, 504].includes(error.statusCode ?? 0) ? 'gone' : 'wrong';
  }
  const away = [errors.ConnectionError, errors.TimeoutError, errors.NoLivingConnectionsError];
  return away.some((kind) => error instanceof kind) ? 'gone' : 'wrong';
}
