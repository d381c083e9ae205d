import {
  BaseConnectionPool,
  type Client,
  type Connection,
  type ConnectionRequestParams,
  errors,
} from '@elastic/elasticsearch';
import { SECOND } from '../units.ts';

/** A failed node gets no request for this time; then one request finds out whether it answers. */
const PASSED_OVER_MS = 1 * SECOND;

/**
 * The nodes in turn, except those that failed. If all failed, the next request goes to the one that failed the longest ago. The
 * client's own pool sends a dead node nearly as many requests as before until it has failed three times, and may repeat a
 * request on the node that has just failed it.
 */
export class NodePool extends BaseConnectionPool {
  readonly #failedAtMs = new Map<Connection, number>();
  #next = 0;

  override getConnection(): Connection | null {
    const nowMs = performance.now();
    const failedAtMs = (node: Connection) => this.#failedAtMs.get(node) ?? Number.NEGATIVE_INFINITY;
    const due = this.connections.filter((node) => nowMs - failedAtMs(node) > PASSED_OVER_MS);
    this.#next += 1;
    const longestAgo = () => this.connections.toSorted((a, b) => failedAtMs(a) - failedAtMs(b))[0];
    const node = due.length > 0 ? due[this.#next % due.length] : longestAgo();
    if (node === undefined) return null;
    // Only this request tries the node.
    if (this.#failedAtMs.has(node)) this.#failedAtMs.set(node, nowMs);
    return node;
  }

  override markAlive(node: Connection): this {
    this.#failedAtMs.delete(node);
    return this;
  }

  override markDead(node: Connection): this {
    this.#failedAtMs.set(node, performance.now());
    return this;
  }
}

/** Whether the node, or a balancer before it, failed the request, so that another node may answer it. */
export function isNodeFault(error: unknown): boolean {
  if (error instanceof errors.ResponseError || error instanceof NodeAnswerError) {
    return isNodeStatus(error.statusCode);
  }
  const lost = [errors.ConnectionError, errors.TimeoutError, errors.NoLivingConnectionsError];
  return lost.some((kind) => error instanceof kind);
}

/** The node, or a balancer before it, answered with a status that is an error. */
class NodeAnswerError extends Error {
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
  // Our pool needs no options.
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
function isNodeStatus(statusCode: number | undefined): boolean {
  return statusCode === 502 || statusCode === 503 || statusCode === 504;
}
