import { errors } from '@elastic/elasticsearch';
import { messageOf, RefusedError } from '../../platform/errors.ts';
import { SearchError } from '../search/msearch.ts';
import { IndexError } from './indexing/indices.ts';

/** The meaning of an error of Elasticsearch, in a few words. */
export function failureOf(error: unknown): string {
  if (error instanceof errors.ProductNotSupportedError) return 'what answers is not Elasticsearch';
  if (error instanceof errors.DeserializationError) return 'its answer is not JSON';
  // A proxy before Elasticsearch answers with an HTML page.
  if (error instanceof errors.ResponseError && typeof error.body !== 'object')
    return `it answers HTTP ${error.statusCode}`;
  return messageOf(error);
}

/** Whether an error is a failure of Elasticsearch, or of an index in it. */
const isOfIndex = (error: unknown): boolean =>
  [errors.ElasticsearchClientError, IndexError, SearchError].some((kind) => error instanceof kind);

/** A failure of Elasticsearch as one line for an operator. @param outcome said to the operator; `null` when no change was meant */
export function plainError(error: unknown, outcome: 'nothing has changed' | null): RefusedError {
  const advice = error instanceof errors.ElasticsearchClientError && 'check ELASTICSEARCH_URL and the server';
  const consequence = [outcome, advice].filter(Boolean).join('; ');
  return new RefusedError(
    `Elasticsearch doesn't answer as it should: ${failureOf(error)}${consequence && `: ${consequence}`}`,
    { cause: error },
  );
}

/** Runs a whole command. A failure of Elasticsearch becomes a {@link plainError}; every other error stays as it is. */
export async function withPlainErrors<T>(
  work: () => Promise<T>,
  outcome: 'nothing has changed' | null = 'nothing has changed',
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isOfIndex(error) ? plainError(error, outcome) : error;
  }
}
