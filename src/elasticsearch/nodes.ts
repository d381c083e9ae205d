import { BaseConnectionPool, type Connection, errors } from '@elastic/elasticsearch';
import { SECOND } from '../units.ts';
import { isNodeStatus, NodeAnswerError } from './send.ts';

/** A failed node gets no request for this time; then one request finds out whether it answers. */
const PASSED_OVER_MS = 1 * SECOND;

/**
 * The nodes in turn, except those that failed. If all failed, the one that failed first. The client's own pool sends a dead node nearly as many requests as before
 * until it has failed three times, and may repeat a request on the node that has just failed it.
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
