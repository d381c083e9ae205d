/** Indices tell in their mapping's `_meta` which directory they belong to. */
import type { Client, estypes } from '@elastic/elasticsearch';
import { SECOND } from '../../platform/units.ts';

/** The description of an index. */
export interface IndexMeta {
  /** The directory's id, because an index of another database must be neither searched nor removed. */
  directory: string;
  fingerprint: string;
}

/** Checks and removals must end soon if Elasticsearch hangs. */
export const SHORT: { requestTimeout: number; maxRetries: number } = {
  requestTimeout: 5 * SECOND,
  maxRetries: 1,
};

/** The description of an index; `null` if there is no such index, or it belongs to no directory. */
export async function readIndexMeta(client: Client, name: string): Promise<IndexMeta | null> {
  const mappings: estypes.IndicesGetMappingResponse = await client.indices.getMapping(
    { index: name },
    { ...SHORT, ignore: [404] },
  );
  const meta = mappings[name]?.mappings._meta as Partial<IndexMeta> | undefined;
  return typeof meta?.directory === 'string' ? (meta as IndexMeta) : null;
}

/** Whether an index exists and belongs to this directory. */
export async function belongsToDirectory(
  client: Client,
  name: string,
  directoryId: string,
): Promise<boolean> {
  return (await readIndexMeta(client, name))?.directory === directoryId;
}
