import { BaseConnectionPool, type Client, type Connection, errors } from '@elastic/elasticsearch';
import { SECOND } from '../units.ts';

/** A failed node is asked at this interval whether it answers again. */
const ASK_EVERY_MS = 1 * SECOND;
const ASK_TIMEOUT_MS = 1 * SECOND;

/** A node that has failed a request, and has answered none since. */
interface Failure {
  sinceMs: number;
  lastMs: number;
  /** It has not answered our question either, so it was not only slow. */
  isDown: boolean;
}

/**
 * The nodes in turn. A node that fails a request gets no other one until it has answered a probe, so no request has to find
 * out whether it is back. If all nodes have failed, the next request goes to the one that failed the longest ago.
 *
 * The client's own pool sends a dead node nearly as many requests as before, until it has failed three times. It may also retry a
 * request on the node that has just failed it.
 */
export class NodePool extends BaseConnectionPool {
  readonly #failures = new Map<Connection, Failure>();
  #next = 0;

  /** Called when a node is found to be down, and when it is up again. @param node host and port */
  onChange: (node: string, isUp: boolean) => void = () => {};

  override getConnection(): Connection | null {
    this.#next += 1;
    const well = this.connections.filter((node) => !this.#failures.has(node));
    if (well.length > 0) return well[this.#next % well.length]!;
    const lastMs = (node: Connection) => this.#failures.get(node)!.lastMs;
    const [node] = this.connections.toSorted((a, b) => lastMs(a) - lastMs(b));
    if (node === undefined) return null;
    this.#failures.get(node)!.lastMs = performance.now();
    return node;
  }

  override markAlive(node: Connection): this {
    const isDown = this.#failures.get(node)?.isDown === true;
    this.#failures.delete(node);
    if (isDown) this.onChange(node.url.host, true);
    return this;
  }

  override markDead(node: Connection): this {
    const nowMs = performance.now();
    const known = this.#failures.get(node);
    if (known !== undefined) known.lastMs = nowMs;
    else if (this.connections.includes(node)) {
      const failure = { sinceMs: nowMs, lastMs: nowMs, isDown: false };
      this.#failures.set(node, failure);
      this.#askLater(node, failure);
    }
    return this;
  }

  #askLater(node: Connection, failure: Failure): void {
    const ask = async () => {
      if (this.#failures.get(node) !== failure) return;
      await this.#ask(node).catch(() => {});
      if (this.#failures.get(node) !== failure) return;
      if (!failure.isDown) this.onChange(node.url.host, false);
      failure.isDown = true;
      this.#askLater(node, failure);
    };
    setTimeout(() => void ask(), ASK_EVERY_MS).unref();
  }

  /** @throws when the node does not answer */
  async #ask(node: Connection): Promise<void> {
    try {
      const options = { requestId: 0, name: 'ask', context: null, timeout: ASK_TIMEOUT_MS };
      const { statusCode } = await node.request({ method: 'HEAD', path: '/' }, options);
      if (isNodeStatus(statusCode)) throw new errors.ConnectionError(`Elasticsearch answered ${statusCode}`);
      this.markAlive(node);
    } catch (error) {
      this.markDead(node);
      throw error;
    }
  }

  /** Asks all nodes at once. @throws the failure of one when none answers */
  async askAll(): Promise<void> {
    const answers = this.connections.map((node) => this.#ask(node));
    await Promise.any(answers).catch(() => answers[0]);
  }

  /** Whether each node is up, by its host and port. */
  up(): Record<string, boolean> {
    const isUp = (node: Connection) => this.#failures.get(node)?.isDown !== true;
    return Object.fromEntries(this.connections.map((node) => [node.url.host, isUp(node)]));
  }

  /** For how long every node has been down; 0 while one may answer. */
  downMs(): number {
    const since = this.connections.map((node) => {
      const failure = this.#failures.get(node);
      return failure?.isDown === true ? failure.sinceMs : Number.POSITIVE_INFINITY;
    });
    return Math.max(0, performance.now() - Math.max(...since));
  }

  override empty(): Promise<void> {
    this.#failures.clear();
    return super.empty();
  }
}

/** The pool of a client that `createElasticsearch` has made. */
export const nodePool = ({ connectionPool }: Client) => connectionPool as NodePool;

/** Whether the node, or a balancer before it, failed the request, so that another node may answer it. */
export function isNodeFault(error: unknown): boolean {
  if (error instanceof errors.ResponseError) return isNodeStatus(error.statusCode);
  const lost = [errors.ConnectionError, errors.TimeoutError, errors.NoLivingConnectionsError];
  return lost.some((kind) => error instanceof kind);
}

/** Whether a status is a fault of the node, or of a balancer before it, so that another node may answer. */
function isNodeStatus(statusCode: number | undefined): boolean {
  return statusCode === 502 || statusCode === 503 || statusCode === 504;
}
