import { errors } from '@elastic/elasticsearch';
import postgres from 'postgres';
import { messageOf, RefusedError } from '../../platform/errors.ts';
import { isSessionLost } from '../../platform/postgres/session-watch.ts';
import { ForeignAliasError } from './indexing/alias.ts';

/** The meaning of an error of Elasticsearch, in a few words. */
export function failureOf(error: unknown): string {
  if (error instanceof errors.ProductNotSupportedError) return 'what answers is not Elasticsearch';
  if (error instanceof errors.DeserializationError) return 'its answer is not JSON';
  // A proxy before Elasticsearch answers with an HTML page.
  if (error instanceof errors.ResponseError && typeof error.body !== 'object')
    return `it answers HTTP ${error.statusCode}`;
  return messageOf(error);
}

/**
 * Runs requests to Elasticsearch. Its failure becomes one line for an operator; an error of Postgres stays as it is.
 * @param outcome said to the operator; `null` when no change was meant
 */
export async function withPlainErrors<T>(
  work: () => Promise<T>,
  outcome: 'nothing has changed' | null = 'nothing has changed',
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isOfPostgres = error instanceof postgres.PostgresError || isSessionLost(error);
    if (error instanceof RefusedError || isOfPostgres) throw error;
    const isOfClient = error instanceof errors.ElasticsearchClientError;
    const parts = [outcome, isOfClient ? 'check ELASTICSEARCH_URL and the server' : null];
    const consequence = parts.filter((part) => part !== null).join('; ');
    throw new RefusedError(
      `Elasticsearch doesn't answer as it should: ${failureOf(error)}${consequence && `: ${consequence}`}`,
      { cause: error },
    );
  }
}

/**
 * {@link withPlainErrors} for a change that Postgres has committed. It needs no rollback, because servers move the alias to the
 * current index (watch.ts).
 *
 * @param change the change, e.g. `import`
 */
export async function failAfterChange<T>(change: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ForeignAliasError)
      throw new RefusedError(`the ${change} is done in Postgres, but ${error.message}`, { cause: error });
    const isRefused = error instanceof RefusedError;
    if (!isRefused && !(error instanceof errors.ElasticsearchClientError)) throw error; // of Postgres
    // The advice differs from the one of withPlainErrors.
    const failure = failureOf(isRefused ? (error.cause ?? error) : error);
    throw new RefusedError(
      `the ${change} is done, but Elasticsearch failed: ${failure}: searches follow within 15 s where a server runs, else` +
        ' when one starts; "index status" shows what they go to',
      { cause: error },
    );
  }
}
