/** Elasticsearch indices of the directory: their names, their life, and the alias that searches go to. */
import { randomBytes } from 'node:crypto';
import { type Client, errors, type estypes } from '@elastic/elasticsearch';
import { RefusedError } from '../errors.ts';
import { readMapping } from '../search/document.ts';
import { MINUTE, SECOND } from '../units.ts';

/** What an index says about itself in its mapping's `_meta`. */
export interface IndexMeta {
  /** The directory's own id: an index of another database is never touched. */
  directory: string;
  /** The generation whose rows it holds. */
  generation: number;
  /** mappingFingerprint() of what built it. */
  fingerprint: string;
}

/**
 * Cloning, refreshing and making an index ready can take long on a busy cluster. Repeated only if the node is lost, never for
 * taking long: one dead node of three would otherwise end every import.
 */
const LONG: { requestTimeout: number; maxRetries: number } = { requestTimeout: 10 * MINUTE, maxRetries: 2 };
/** Looking and tidying up must not hold anybody up where Elasticsearch hangs. */
const SHORT: { requestTimeout: number; maxRetries: number } = { requestTimeout: 10 * SECOND, maxRetries: 1 };

/** `<alias>-<UTC time>-<random>`: names sort by age and are never used twice. */
export function newIndexName(alias: string, now: Date = new Date()): string {
  const time = now.toISOString().replace(/\D/g, '').slice(0, 14);
  return `${alias}-${time}-${randomBytes(3).toString('hex')}`;
}

/** While loading: no search reads it, and after a crash it is rebuilt. */
const LOADING = {
  number_of_replicas: 0,
  refresh_interval: '-1',
  translog: { durability: 'async', flush_threshold_size: '1gb' },
} as const;

/**
 * When complete: nothing writes any more (a clone begins from here), and a cluster of several nodes keeps a second copy.
 * What the mapping file says about replicas and refresh comes before that.
 */
function servingSettings(): estypes.IndicesIndexSettings {
  const { index } = readMapping().settings as { index: Record<string, unknown> };
  const replicas =
    'number_of_replicas' in index ? index.number_of_replicas : (index['index.number_of_replicas'] ?? null);
  return {
    ...(replicas === null
      ? { auto_expand_replicas: '0-1' as const }
      : { number_of_replicas: replicas as number }),
    refresh_interval: (index.refresh_interval as string | undefined) ?? null,
    translog: { durability: null, flush_threshold_size: null },
    blocks: { write: true },
    // null means "the default again"; the client's types don't know it
  } as unknown as estypes.IndicesIndexSettings;
}

/**
 * An empty index that is ready to be loaded. Not to be interrupted: Elasticsearch would go on, and the index be there only
 * after whoever was interrupted has looked for what is to be removed. It takes a moment.
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

/**
 * A copy of a complete index that changes can be written to: hard links, so it takes a second or two. As `createIndex`, it is
 * interrupted only when it is there.
 */
export async function cloneIndex(
  client: Client,
  source: string,
  name: string,
  meta: IndexMeta,
  signal: AbortSignal,
): Promise<void> {
  const settings = {
    'index.blocks.write': null,
    'index.auto_expand_replicas': false,
    'index.number_of_replicas': LOADING.number_of_replicas,
    'index.refresh_interval': LOADING.refresh_interval,
    'index.translog.durability': LOADING.translog.durability,
  };
  await client.indices.clone(
    { index: source, target: name, settings, wait_for_active_shards: 'all', timeout: '5m' },
    LONG,
  );
  await client.indices.putMapping({ index: name, _meta: { ...meta } }, { ...LONG, signal });
}

/** Makes everything written so far searchable. */
export async function refreshIndex(client: Client, name: string, signal: AbortSignal): Promise<void> {
  await client.indices.refresh({ index: name }, { ...LONG, signal });
}

/**
 * Merges an index into one segment, which halves what a search takes: it looks for its term in each. One that can't be
 * waited for goes on in Elasticsearch; the index is right without it.
 */
export async function mergeIndex(client: Client, name: string, signal: AbortSignal): Promise<void> {
  try {
    await client.indices.forcemerge({ index: name, max_num_segments: 1 }, { ...LONG, signal });
  } catch (error) {
    if (!(error instanceof errors.TimeoutError)) throw error;
  }
}

/** Ends an index's loading: durable, replicated, closed for writing. */
export async function finishIndex(client: Client, name: string, signal: AbortSignal): Promise<void> {
  await client.indices.flush({ index: name, wait_if_ongoing: true }, { ...LONG, signal });
  await client.indices.putSettings({ index: name, settings: servingSettings() }, { ...LONG, signal });
}

/** Documents that searches find. */
export async function countDocuments(client: Client, name: string, signal: AbortSignal): Promise<number> {
  const { count } = await client.count({ index: name }, { ...SHORT, signal });
  return count;
}

/** The indices of this directory, aliased or not, with what they say about themselves. */
export async function listIndices(
  client: Client,
  alias: string,
  directoryId: string,
): Promise<Map<string, IndexMeta>> {
  const mappings = await client.indices.getMapping(
    { index: `${alias}-*`, expand_wildcards: ['open', 'closed'], filter_path: '*.mappings._meta' },
    SHORT,
  );
  const ours = new Map<string, IndexMeta>();
  for (const [name, { mappings: mapping }] of Object.entries(mappings)) {
    const meta = mapping?._meta as Partial<IndexMeta> | undefined;
    if (meta?.directory === directoryId) ours.set(name, meta as IndexMeta);
  }
  return ours;
}

/** What an index says about itself; null: there is no such index, or it is none of a directory. */
export async function readIndexMeta(client: Client, name: string): Promise<IndexMeta | null> {
  const mappings: estypes.IndicesGetMappingResponse = await client.indices
    .getMapping({ index: name }, SHORT)
    .catch((error) => (isNotFound(error) ? {} : Promise.reject(error)));
  const meta = mappings[name]?.mappings._meta as Partial<IndexMeta> | undefined;
  return typeof meta?.directory === 'string' ? (meta as IndexMeta) : null;
}

/** Whether an index is there and belongs to this directory. */
export async function isOurs(client: Client, name: string, directoryId: string): Promise<boolean> {
  return (await readIndexMeta(client, name))?.directory === directoryId;
}

/** The indices that an alias points to: one, or none; more only where somebody else has changed it. */
export async function aliasTargets(client: Client, alias: string): Promise<string[]> {
  const found = await client.indices
    .getAlias({ name: alias }, SHORT)
    .catch((error) => (isNotFound(error) ? {} : Promise.reject(error)));
  return Object.keys(found);
}

/**
 * Points the alias to one index, in one atomic step.
 * @throws RefusedError when an index has the alias's name
 */
export async function pointAlias(client: Client, alias: string, index: string): Promise<void> {
  const targets = await aliasTargets(client, alias);
  const others = targets.filter((target) => target !== index);
  if (others.length === 0 && targets.length === 1) return;
  try {
    await client.indices.updateAliases(
      {
        actions: [
          ...others.map((target) => ({ remove: { index: target, alias } })),
          { add: { index, alias } },
        ],
      },
      { ...SHORT, requestTimeout: 30 * SECOND },
    );
  } catch (error) {
    // Only asks why it failed. If that can't be answered either, the first failure is the one to report.
    if (await client.indices.exists({ index: alias }, SHORT).catch(() => false)) {
      const isAlias = await client.indices.existsAlias({ name: alias }, SHORT).catch(() => true);
      if (!isAlias) {
        throw new RefusedError(
          `Elasticsearch has an index named ${alias}, where the alias should be: remove it, or set ELASTICSEARCH_ALIAS`,
        );
      }
    }
    throw error;
  }
}

/** Removes an index; one that is gone already is fine. Its name must come from listIndices: it is ours then. */
export async function deleteIndex(client: Client, name: string): Promise<void> {
  await client.indices.delete(
    { index: name, ignore_unavailable: true },
    { ...SHORT, requestTimeout: MINUTE },
  );
}

function isNotFound(error: unknown): boolean {
  return error instanceof errors.ResponseError && error.statusCode === 404;
}
