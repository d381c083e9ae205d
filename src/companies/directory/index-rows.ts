import type { Sql } from '../../platform/postgres/connect.ts';
import type { Progress } from '../../platform/terminal/progress.ts';
import type { DirectoryContext } from './context.ts';
import type { Generation } from './generations.ts';
import { type BuiltIndex, buildIndex } from './indexing/build-index.ts';
import { buildSearchIndexes } from './tables.ts';

/**
 * Makes a generation's rows searchable: by a new index, or in embedded mode by indexes of its table (then the answer is `null`).
 * @param sql a dedicated connection
 * @throws the error of Elasticsearch
 */
export async function indexRows(
  context: DirectoryContext,
  sql: Sql,
  options: { directoryId: string; of: Pick<Generation, 'id' | 'tableName' | 'rows'>; progress: Progress },
): Promise<BuiltIndex | null> {
  const { elasticsearch: client, config, signal } = context;
  if (client !== null) {
    return buildIndex(client, context.sql, { ...options, prefix: config.elasticsearchPrefix, signal });
  }
  options.progress.phase('indexing');
  await buildSearchIndexes(sql, options.of.tableName);
  return null;
}
