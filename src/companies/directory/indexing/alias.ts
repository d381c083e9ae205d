/** Only for a rolling restart from 0.1.0 to 0.2, whose instances search an alias; remove it with 0.3. */
import type { Client } from '@elastic/elasticsearch';
import { belongsToDirectory, SHORT } from '../../search/index-meta.ts';

/**
 * Points the alias of 0.1.0 to the current index if it leads to another index of this directory. Without this call an instance of 0.1.0
 * does it within 15 s, so a failure is left to it.
 * @param alias has the name of the prefix
 */
export async function moveAliasForOldInstances(
  client: Client,
  { alias, index, directoryId }: { alias: string; index: string; directoryId: string },
): Promise<void> {
  try {
    const targets = Object.keys(await client.indices.getAlias({ name: alias }, SHORT));
    const others = targets.filter((target) => target !== index);
    for (const other of others) if (!(await belongsToDirectory(client, other, directoryId))) return;
    if (others.length === 0) return;
    const removals = others.map((other) => ({ remove: { index: other, alias } }));
    const actions = [...removals, { add: { index, alias, is_write_index: true } }];
    await client.indices.updateAliases({ actions }, SHORT);
  } catch {}
}
