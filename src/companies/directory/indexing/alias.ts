/**
 * The alias that searches go to.
 *
 * Two directories may share an Elasticsearch and an alias by mistake, for example a copy of a database and its original. So a move
 * leaves no index of another directory, unless an operator's `index rebuild` asks for that. An index joins the alias as its write
 * index, and Elasticsearch allows an alias one of these. So two moves at once never leave two indices.
 */
import { type Client, errors } from '@elastic/elasticsearch';
import { RefusedError } from '../../../platform/errors.ts';
import { SECOND } from '../../../platform/units.ts';
import { isNotFound, readIndexMeta, SHORT } from './indices.ts';

/** The alias leads to an index of another directory, which only `index rebuild` may leave. */
export class ForeignAliasError extends RefusedError {
  constructor(
    readonly alias: string,
    readonly foreign: readonly string[],
    outcome = '',
  ) {
    super(
      `the alias ${alias} leads to ${foreign.join(' and ')}, an index of another database: ${outcome}` +
        'set another ELASTICSEARCH_ALIAS for a copy or a second service; after a restore run "index rebuild", which takes the alias',
    );
  }
}

/** The indices that an alias points to: none or one, or more if another program has changed it. */
export async function aliasTargets(client: Client, alias: string): Promise<string[]> {
  const found = await client.indices
    .getAlias({ name: alias }, SHORT)
    .catch((error) => (isNotFound(error) ? {} : Promise.reject(error)));
  return Object.keys(found);
}

/** Those of some indices that are not this directory's. */
export async function foreignIndices(
  client: Client,
  indices: readonly string[],
  directoryId: string,
): Promise<string[]> {
  const metas = await Promise.all(indices.map((index) => readIndexMeta(client, index)));
  return indices.filter((_, position) => metas[position]?.directory !== directoryId);
}

/** @throws ForeignAliasError before a change that would move the alias */
export async function assertOwnAlias(client: Client, alias: string, directoryId: string): Promise<void> {
  const foreign = await foreignIndices(client, await aliasTargets(client, alias), directoryId);
  if (foreign.length > 0) throw new ForeignAliasError(alias, foreign, 'nothing has changed; ');
}

/** Another directory's process may move the same alias. */
const MOVE_ATTEMPTS = 3;

export interface AliasMove {
  alias: string;
  /** An index of the directory. */
  index: string;
  directoryId: string;
  /** Whether the alias may leave an index of another directory. */
  takesOver: boolean;
}

/**
 * Points the alias to one index, in one atomic step.
 * @returns the indices of other directories that the alias has left
 * @throws ForeignAliasError when there are some, and the move does not take over
 * @throws RefusedError when an index has the alias's name
 */
export async function pointAlias(client: Client, move: AliasMove): Promise<string[]> {
  const { alias, index, directoryId, takesOver } = move;
  for (let attempt = 1; ; attempt += 1) {
    const targets = await aliasTargets(client, alias);
    const others = targets.filter((target) => target !== index);
    if (others.length === 0 && targets.length === 1) return [];
    const foreign = await foreignIndices(client, others, directoryId);
    if (foreign.length > 0 && !takesOver) throw new ForeignAliasError(alias, foreign);
    const actions = [
      ...others.map((target) => ({ remove: { index: target, alias, must_exist: true } })),
      { add: { index, alias, is_write_index: true } },
    ];
    try {
      await client.indices.updateAliases({ actions }, { ...SHORT, requestTimeout: 30 * SECOND });
      return foreign;
    } catch (error) {
      if (typeOf(error) === 'invalid_alias_name_exception')
        throw new RefusedError(
          `Elasticsearch has an index named ${alias}, where the alias should be: remove it, or set ELASTICSEARCH_ALIAS`,
        );
      if (attempt === MOVE_ATTEMPTS || !hasMoved(error)) throw error;
    }
  }
}

/** Whether the alias has moved after its targets were read. */
const hasMoved = (error: unknown) => isNotFound(error) || typeOf(error) === 'illegal_state_exception';

function typeOf(error: unknown): string | undefined {
  return error instanceof errors.ResponseError ? error.body?.error?.type : undefined;
}
