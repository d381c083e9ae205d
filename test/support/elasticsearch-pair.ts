/** Two Elasticsearch nodes that a test starts for itself, to kill them. */
import { startNode } from '../servers/elasticsearch.ts';
import { findJdk } from '../servers/jdk.ts';
import { freePort } from '../servers/ports.ts';
import { type ServerProcess, stopProcess } from '../servers/processes.ts';
import { createContext } from './secure-servers.ts';

interface ElasticsearchNode {
  url: string;
  /** As a machine that loses its power: no goodbye. */
  kill(): Promise<void>;
  /** It keeps its connections, and answers nothing until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Starts it again, with its data and at its address. */
  start(): Promise<void>;
}

export interface ElasticsearchPair {
  /** Both addresses with a comma between them. */
  url: string;
  /** The only node that can be master. */
  a: ElasticsearchNode;
  /** New primary shards go to this one, because `a` has more shards already. */
  b: ElasticsearchNode;
  stop(): Promise<void>;
}

const BALLAST_SHARDS = 8;

/** Both start at once: 30 to 40 s on two busy cores. */
export async function startElasticsearchPair(): Promise<ElasticsearchPair> {
  const { context, stop } = await createContext();
  const jdk = findJdk(context.user);
  if (jdk === undefined) throw new Error('two Elasticsearch nodes need a JDK 21+ and Maven on this machine');
  const [aHttp, aTransport, bHttp, bTransport] = await Promise.all([1, 2, 3, 4].map(freePort));
  const createNode = (name: string, http: number, settings: string[]): ElasticsearchNode => {
    let server: ServerProcess;
    return {
      url: `http://127.0.0.1:${http}`,
      async start() {
        const shared = [`node.name: ${name}`, `http.port: ${http}`, 'node.processors: 1'];
        const options = { name, settings: [...shared, ...settings], elasticsearchHeapMb: 256 };
        ({ server } = await startNode(context, jdk, { ...options, purpose: 'tests' }));
      },
      kill: () => stopProcess(server, 'SIGKILL'),
      freeze: () => server.signal('SIGSTOP'),
      thaw: () => server.signal('SIGCONT'),
    };
  };
  const a = createNode('a', aHttp!, [
    `transport.port: ${aTransport}`,
    'node.roles: [master, data]',
    'cluster.initial_master_nodes: [a]',
  ]);
  const b = createNode('b', bHttp!, [
    `transport.port: ${bTransport}`,
    'node.roles: [data]',
    `discovery.seed_hosts: ["127.0.0.1:${aTransport}"]`,
  ]);
  try {
    await Promise.all([a.start(), b.start()]);
    await request(`${a.url}/ballast?wait_for_active_shards=all`, {
      settings: {
        number_of_shards: BALLAST_SHARDS,
        number_of_replicas: 0,
        'routing.allocation.require._name': 'a',
      },
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `${a.url},${b.url}`, a, b, stop };
}

async function request(url: string, body: object): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(url, { method: 'PUT', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${await answer.text()}`);
}
