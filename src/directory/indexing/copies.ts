/** Copies of an index, so that the death of a node stops no search. */
import type { Client } from '@elastic/elasticsearch';
import { isNodeFault } from '../../elasticsearch/nodes.ts';
import type { Progress } from '../../terminal/progress.ts';
import { MINUTE, SECOND } from '../../units.ts';

/** 5 million names take about 20 s by Elasticsearch's own limit (40 MB/s). */
const COPY_TIMEOUT_MS = 5 * MINUTE;
/** A cluster without an answer for this time is away. */
const GONE_PATIENCE_MS = 30 * SECOND;
const POLL_EVERY_MS = 0.25 * SECOND;
const HEALTH_TIMEOUT_MS = 5 * SECOND;

/** Shard copies that answer, primaries included; all that the index can have; and whether a shard has none. */
interface Copies {
  active: number;
  possible: number;
  isBroken: boolean;
}

async function copiesOf(client: Client, name: string): Promise<Copies> {
  const health = await client.cluster.health(
    { index: name, level: 'indices' },
    { requestTimeout: HEALTH_TIMEOUT_MS, maxRetries: 1 },
  );
  const index = health.indices?.[name];
  if (index === undefined) return { active: 0, possible: 1, isBroken: true };
  // A node never holds two copies of a shard.
  const replicas = Math.min(Number(index.number_of_replicas), Math.max(0, health.number_of_data_nodes - 1));
  const shards = Number(index.number_of_shards);
  return {
    active: index.active_shards,
    possible: shards * (1 + replicas),
    isBroken: index.active_primary_shards < shards,
  };
}

/** Whether every shard of an index answers. */
export async function isSearchable(client: Client, name: string): Promise<boolean> {
  return !(await copiesOf(client, name)).isBroken;
}

/**
 * Waits until an index has as many copies as its settings ask for and the data nodes can hold; a single node has none but the
 * primary. If that takes too long (a full disk), a note says so, and the index is used without them.
 *
 * @throws Error when a shard has no copy at all by then
 */
export async function untilCopied(
  client: Client,
  name: string,
  { signal, progress }: { signal: AbortSignal; progress?: Pick<Progress, 'phase' | 'note'> },
  timeoutMs = COPY_TIMEOUT_MS,
): Promise<void> {
  const untilMs = performance.now() + timeoutMs;
  let answeredAtMs = performance.now();
  let copies: Copies | null = null;
  for (let looks = 0; copies === null || copies.active < copies.possible; looks++) {
    signal.throwIfAborted();
    if (performance.now() > untilMs) break;
    if (looks === 1) progress?.phase('copying the index to other nodes');
    if (looks > 0) await Bun.sleep(POLL_EVERY_MS);
    try {
      copies = await copiesOf(client, name);
      answeredAtMs = performance.now();
    } catch (error) {
      if (!isNodeFault(error) || performance.now() - answeredAtMs > GONE_PATIENCE_MS) throw error;
    }
  }
  if (copies === null || copies.isBroken) {
    throw new Error('a shard of the new index is on no node that answers');
  }
  if (copies.active >= copies.possible) return;
  progress?.note(
    `warning: the new index has ${copies.active} of ${copies.possible} shard copies: look at the disks of the nodes, ` +
      'because the death of one may end searches',
  );
}
