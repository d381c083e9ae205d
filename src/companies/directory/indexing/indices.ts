/** Elasticsearch indices of the directory: their names and their life cycle. */
import { hash, randomBytes } from 'node:crypto';
import type { Client, estypes } from '@elastic/elasticsearch';
import { isNodeFault } from '../../../platform/elasticsearch/nodes.ts';
import { MINUTE } from '../../../platform/units.ts';
import { readMapping } from '../../search/document.ts';
import { type IndexMeta, SHORT } from '../../search/index-meta.ts';

/** An index is not as it should be, though Elasticsearch answered. */
export class IndexError extends Error {}

/**
 * Refreshing and finishing an index can take long on a busy cluster. A retry happens only if the node is lost, because
 * otherwise one dead node of three would end every import.
 */
const LONG: { requestTimeout: number; maxRetries: number } = { requestTimeout: 10 * MINUTE, maxRetries: 2 };
/** `<prefix>-<database>-<UTC time>-<random>`, so that names of a database sort by age and are never used twice, by it or another. */
export function newIndexName(prefix: string, directoryId: string, now: Date = new Date()): string {
  const database = hash('sha256', directoryId).slice(0, 12);
  const time = now.toISOString().replace(/\D/g, '').slice(0, 14);
  return `${prefix}-${database}-${time}-${randomBytes(3).toString('hex')}`;
}

/** Settings while loading. No search reads the index, and after a crash it is rebuilt. */
const LOADING = {
  number_of_replicas: 0,
  refresh_interval: '-1',
  translog: { durability: 'async', flush_threshold_size: '1gb' },
} as const;

/**
 * Settings of a complete index. It has a copy on every node, so that a search needs only the node that it is sent to. The mapping
 * file's replicas and refresh override them.
 */
function servingSettings(): estypes.IndicesIndexSettings {
  const { number_of_replicas, refresh_interval = null } = readMapping().settings.index as Record<
    string,
    unknown
  >;
  return {
    ...(number_of_replicas === undefined ? { auto_expand_replicas: '0-all' } : { number_of_replicas }),
    refresh_interval,
    translog: { durability: null, flush_threshold_size: null },
    // null means "the default again"; the client's types don't know it
  } as unknown as estypes.IndicesIndexSettings;
}

/**
 * Creates an empty index for loading, which takes a moment. Don't abort this: Elasticsearch would still create the index, after
 * our cleanup has already run.
 */
export async function createIndex(client: Client, name: string, meta: IndexMeta): Promise<void> {
  const mapping = readMapping();
  const { auto_expand_replicas: _, ...index } = mapping.settings.index as Record<string, unknown>;
  await client.indices.create(
    {
      index: name,
      settings: { ...mapping.settings, index: { ...index, ...LOADING } } as estypes.IndicesIndexSettings,
      mappings: { ...mapping.mappings, _meta: { ...meta } } as estypes.MappingTypeMapping,
    },
    LONG,
  );
}

export async function refreshIndex(client: Client, name: string, signal: AbortSignal): Promise<void> {
  await client.indices.refresh({ index: name }, { ...LONG, signal });
}

/**
 * Merges an index into one segment, which halves the cost of a search, because a search reads each segment. If the answer is
 * late or lost, the merge continues in Elasticsearch; the index is correct without it.
 */
export async function mergeIndex(client: Client, name: string, signal: AbortSignal): Promise<void> {
  try {
    await client.indices.forcemerge({ index: name, max_num_segments: 1 }, { ...LONG, maxRetries: 0, signal });
  } catch (error) {
    if (!isNodeFault(error)) throw error;
  }
}

/** Ends an index's loading: durable and replicated. */
export async function finishIndex(client: Client, name: string, signal: AbortSignal): Promise<void> {
  await client.indices.flush({ index: name, wait_if_ongoing: true }, { ...LONG, signal });
  await client.indices.putSettings({ index: name, settings: servingSettings() }, { ...LONG, signal });
}

export async function countDocuments(client: Client, name: string, signal: AbortSignal): Promise<number> {
  // A copy on the node that is asked: another node may hang.
  const { count } = await client.count({ index: name, preference: '_local' }, { ...SHORT, signal });
  return count;
}

/** The indices with a prefix that tell of which directory they are, with its id and the aliases that point to them. */
export async function listIndices(
  client: Client,
  prefix: string,
): Promise<{ name: string; directory: string; aliases: string[] }[]> {
  const indices = await client.indices.get(
    {
      index: `${prefix}-*`,
      expand_wildcards: ['open', 'closed'],
      filter_path: ['*.aliases', '*.mappings._meta'],
    },
    SHORT,
  );
  return Object.entries(indices).flatMap(([name, { aliases = {}, mappings }]) => {
    const directory: unknown = mappings?._meta?.directory;
    return typeof directory === 'string' ? [{ name, directory, aliases: Object.keys(aliases) }] : [];
  });
}

/** Lets the alias that instances of 0.1.0 search follow in a rolling restart; remove it with 0.3. */
export async function moveAlias(client: Client, alias: string, from: string[], to: string): Promise<void> {
  const removals = from.map((index) => ({ remove: { index, alias, must_exist: false } }));
  const actions = [...removals, { add: { index: to, alias, is_write_index: true } }];
  await client.indices.updateAliases({ actions }, SHORT);
}

/** Removes an index if it exists. Its name must come from listIndices, so that it is ours. */
export async function deleteIndex(client: Client, name: string): Promise<void> {
  await client.indices.delete(
    { index: name, ignore_unavailable: true },
    { ...SHORT, requestTimeout: MINUTE },
  );
}
