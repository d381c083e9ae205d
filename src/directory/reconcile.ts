import { type Client, errors } from '@elastic/elasticsearch';
import postgres from 'postgres';
import { messageOf, RefusedError } from '../errors.ts';
import { isSessionLost } from '../postgres/session-watch.ts';
import { mappingFingerprint } from '../search/document.ts';
import { SECOND } from '../units.ts';
import { untilCopied } from './copies.ts';
import { type Directory, readDirectory } from './generations.ts';
import { aliasTargets, createIndex, finishIndex, isOurs, newIndexName, pointAlias } from './indices.ts';
import { assertHeld, type DirectoryLock } from './lock.ts';
import { type DirectoryTools, NEVER_ABORTED } from './tools.ts';

/** The directory in order. */
export interface Reconciled extends Directory {
  /** The index that searches go to only now, because the change before could not be finished; null: nothing was left. */
  movedTo: string | null;
}

/**
 * What the last run has left, put in order, under the lock: an alias that doesn't point to the current generation's
 * complete index yet (the process died in between) is moved; an empty directory gets an empty index, so that searches
 * find nothing rather than fail.
 *
 * @returns the directory as it is now
 * @throws RefusedError when Elasticsearch can't be reached
 */
export async function reconcile(tools: DirectoryTools, lock: DirectoryLock): Promise<Reconciled> {
  const directory = await readDirectory(lock.sql);
  const { elasticsearch: client } = tools;
  if (client === null) return { ...directory, movedTo: null };
  const alias = tools.config.elasticsearchAlias;
  let movedTo: string | null = null;
  await orUnchanged(async () => {
    const { current } = directory;
    const targets = await aliasTargets(client, alias);
    if (current.indexName !== null) {
      const isServed = targets.length === 1 && targets[0] === current.indexName;
      if (!isServed && (await isOurs(client, current.indexName, directory.id))) {
        await assertHeld(lock);
        await pointAlias(client, alias, current.indexName);
        movedTo = current.indexName;
      }
    } else if (current.rows === 0 && targets.length === 0) {
      await serveEmptyIndex(client, alias, directory, lock);
    }
  });
  return { ...(await readDirectory(lock.sql)), movedTo };
}

/** Nothing is to be copied, so that a longer wait would be for a node that has no room. */
const EMPTY_COPY_TIMEOUT_MS = 10 * SECOND;

async function serveEmptyIndex(
  client: Client,
  alias: string,
  { id, current }: Directory,
  lock: DirectoryLock,
): Promise<void> {
  const name = newIndexName(alias);
  const fingerprint = mappingFingerprint();
  await createIndex(client, name, { directory: id, generation: current.id, fingerprint });
  await finishIndex(client, name, NEVER_ABORTED);
  await untilCopied(client, name, { signal: NEVER_ABORTED }, EMPTY_COPY_TIMEOUT_MS);
  await lock.sql`
    UPDATE directory_generations SET index_name = ${name}, index_fingerprint = ${fingerprint} WHERE id = ${current.id}`;
  await pointAlias(client, alias, name);
}

/** What an error of Elasticsearch means, in a few words. */
export function failureOf(error: unknown): string {
  if (error instanceof errors.ProductNotSupportedError) return 'what answers is not Elasticsearch';
  if (error instanceof errors.DeserializationError) return 'its answer is not JSON';
  // A proxy before it answers with an HTML page.
  if (error instanceof errors.ResponseError && typeof error.body !== 'object')
    return `it answers HTTP ${error.statusCode}`;
  return messageOf(error);
}

/** Runs requests to Elasticsearch; its failure becomes one line for an operator. Postgres's own is left as it is. */
export function orUnreachable<T>(work: () => Promise<T>): Promise<T> {
  return orRefused(work, '');
}

/** The same in what would change the directory, before it has. */
export function orUnchanged<T>(work: () => Promise<T>): Promise<T> {
  return orRefused(work, 'nothing has changed');
}

async function orRefused<T>(work: () => Promise<T>, outcome: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isOfPostgres = error instanceof postgres.PostgresError || isSessionLost(error);
    if (error instanceof RefusedError || isOfPostgres) throw error;
    const isOfClient = error instanceof errors.ElasticsearchClientError;
    const advice = isOfClient ? 'check ELASTICSEARCH_URL and the server' : '';
    const consequence = [outcome, advice].filter((part) => part !== '').join('; ');
    throw new RefusedError(
      `Elasticsearch doesn't answer as it should: ${failureOf(error)}${consequence && `: ${consequence}`}`,
      { cause: error },
    );
  }
}

/**
 * The same once Postgres has changed: there is no way back then, and none is needed, because servers look at the alias
 * now and then and move it where it belongs (watch.ts).
 *
 * @param change what has happened, e.g. `import`
 */
export async function orLater<T>(change: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isRefused = error instanceof RefusedError;
    if (!isRefused && !(error instanceof errors.ElasticsearchClientError)) throw error; // Postgres's
    // Not the line of orUnreachable: this one has other advice.
    const failure = failureOf(isRefused ? (error.cause ?? error) : error);
    throw new RefusedError(
      `the ${change} is done, but Elasticsearch failed: ${failure}: searches follow within 15 s where a server runs, else` +
        ' when one starts; "index status" shows what they go to',
      { cause: error },
    );
  }
}
