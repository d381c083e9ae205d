/** Copies of an index, so that the death of a node stops no search. */
import type { Client } from '@elastic/elasticsearch';
import type { Progress } from '../../../platform/terminal/progress.ts';
import { MINUTE, SECOND } from '../../../platform/units.ts';
import { IndexError } from './indices.ts';

/** 5 million names take about 20 s by Elasticsearch's own limit (40 MB/s). */
const COPY_TIMEOUT_MS = 5 * MINUTE;
/** An answer is later than the wait by no more than this. */
const ANSWER_TIMEOUT_MS = 5 * SECOND;
/** Another node is asked when one is lost. */
const MAX_RETRIES = 2;
/** Elasticsearch's status for a wait that has timed out. */
const TIMED_OUT = 408;

/** @param timeoutMs the wait for all copies */
function healthOf(client: Client, name: string, timeoutMs: number, signal?: AbortSignal) {
  return client.cluster.health(
    { index: name, level: 'indices', wait_for_status: 'green', timeout: `${timeoutMs}ms` },
    {
      requestTimeout: timeoutMs + ANSWER_TIMEOUT_MS,
      maxRetries: MAX_RETRIES,
      ignore: [TIMED_OUT],
      ...(signal === undefined ? {} : { signal }),
    },
  );
}

/** Whether every shard of an index answers. */
export async function isSearchable(client: Client, name: string): Promise<boolean> {
  return (await healthOf(client, name, 0)).status !== 'red';
}

/**
 * Waits until an index has as many copies as its settings ask for; by default that is one for each node. If that takes too long, a
 * note says why, and the index is used without them.
 *
 * @throws Error when a shard has no copy at all by then
 */
export async function untilCopied(
  client: Client,
  name: string,
  { signal, progress }: { signal: AbortSignal; progress?: Pick<Progress, 'phase' | 'note'> },
  timeoutMs = COPY_TIMEOUT_MS,
): Promise<void> {
  let health = await healthOf(client, name, 0, signal);
  if (health.status !== 'green') {
    progress?.phase('copying the index to other nodes');
    health = await healthOf(client, name, timeoutMs, signal);
  }
  if (health.status === 'green') return;
  const index = health.indices?.[name];
  if (health.status === 'red' || index === undefined) {
    throw new IndexError('a shard of the new index is on no node that answers');
  }
  const shards = Number(index.number_of_shards) * (1 + Number(index.number_of_replicas));
  progress?.note(
    `warning: the new index has ${index.active_shards} of ${shards} shard copies after ${Math.round(timeoutMs / SECOND)} s on ` +
      `${health.number_of_data_nodes} nodes: the death of a node may end searches`,
  );
}
