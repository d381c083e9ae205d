import { type Client, type ConnectionRequestParams, errors } from '@elastic/elasticsearch';

/** The node, or a balancer before it, answered with a status that is an error. */
export class NodeAnswerError extends Error {
  override readonly name = 'NodeAnswerError';

  constructor(
    readonly statusCode: number,
    body: string,
  ) {
    const type = /"type":"(\w+)"/.exec(body)?.[1];
    super(`Elasticsearch answered ${statusCode}${type === undefined ? '' : ` ${type}`}`);
  }
}

/**
 * Sends a request to one of the client's nodes, without retries, and returns the text of its answer. It bypasses the client's
 * layers, which parse the answer and take 200 µs a request; a batch of searches takes 300 (docs/field-notes.md).
 *
 * @throws a ConnectionError or TimeoutError of the client, or a {@link NodeAnswerError}
 */
export async function sendToNode(
  { connectionPool, name }: Client,
  params: ConnectionRequestParams,
  timeoutMs: number,
): Promise<string> {
  // The pool (nodes.ts) asks for no options.
  const node = connectionPool.getConnection({} as never);
  if (node === null) throw new errors.ConnectionError('there is no node to ask');
  let isAlive = false;
  try {
    const { body, statusCode } = await node.request(params, {
      requestId: 0,
      name,
      context: null,
      timeout: timeoutMs,
    });
    isAlive = !isNodeStatus(statusCode);
    if (statusCode !== 200) throw new NodeAnswerError(statusCode, String(body));
    return body as string;
  } finally {
    if (isAlive) connectionPool.markAlive(node);
    else connectionPool.markDead(node);
  }
}

/** Whether a status is a fault of the node, or of a balancer before it, so that another node may answer. */
export function isNodeStatus(statusCode: number | undefined): boolean {
  return statusCode === 502 || statusCode === 503 || statusCode === 504;
}
