/** Two Elasticsearch nodes that a test starts for itself, to take one away. */
import { join } from 'node:path';
import { publishedUrl, startNode } from '../servers/elasticsearch.ts';
import { findJdk } from '../servers/jdk.ts';
import { READY_TIMEOUT_MS } from '../servers/ports.ts';
import { stopProcess } from '../servers/processes.ts';
import { startProxy, type TcpProxy } from './proxy.ts';
import { createOwnContext } from './secure-servers.ts';
import { poll } from './until.ts';

export type ElasticsearchPair = Awaited<ReturnType<typeof startElasticsearchPair>>;

const BALLAST_SHARDS = 8;

/** Both start at once: 30 to 40 s on two busy cores. */
export async function startElasticsearchPair() {
  const { context, stop: stopServers } = await createOwnContext();
  const jdk = findJdk(context.user);
  if (jdk === undefined) throw new Error('two Elasticsearch nodes need a JDK 21+ and Maven on this machine');
  // Each leads to nowhere until its node has got its port.
  const ofB = await Promise.all(Array.from({ length: 3 }, () => startProxy('http://127.0.0.1:9')));
  const [toA, bClients, toB] = ofB as [TcpProxy, TcpProxy, TcpProxy];
  const stop = async () => {
    await stopServers();
    for (const proxy of ofB) await proxy.close();
  };
  /** @param nodes the proxy by which the other node reaches this one */
  const startOne = async (name: string, nodes: TcpProxy, settings: string[]) => {
    const ports = ['http.port: 0', 'transport.port: 0', `transport.publish_port: ${nodes.port}`];
    const shared = [`node.name: ${name}`, ...ports, 'node.processors: 1'];
    const options = { name, settings: [...shared, ...settings], elasticsearchHeapMb: 256 };
    // A node serves no request before it is in the cluster, to which its own port for nodes may be the way.
    const starting = startNode(context, jdk, { ...options, purpose: 'tests' });
    const published = () => publishedUrl(join(context.runFolder, name, 'logs/transport.ports'));
    await Promise.race([
      poll(published, (url) => url !== '', READY_TIMEOUT_MS).then(nodes.redirect),
      starting,
    ]);
    const { server, url } = await starting;
    return {
      url,
      /** As a machine that loses its power: no goodbye. */
      kill: () => stopProcess(server, 'SIGKILL'),
      /** It keeps its connections, and answers nothing until `thaw`. */
      freeze: () => server.signal('SIGSTOP'),
      thaw: () => server.signal('SIGCONT'),
    };
  };
  try {
    const [a, b] = await Promise.all([
      startOne('a', toA, ['node.roles: [master, data]', 'cluster.initial_master_nodes: [a]']),
      startOne('b', toB, ['node.roles: [data]', `discovery.seed_hosts: ["127.0.0.1:${toA.port}"]`]),
    ]);
    bClients.redirect(b.url);
    await request(`${a.url}/ballast?wait_for_active_shards=all`, {
      settings: {
        number_of_shards: BALLAST_SHARDS,
        number_of_replicas: 0,
        'routing.allocation.require._name': 'a',
      },
    });
    return {
      /** Both addresses with a comma between them. */
      url: `${a.url},http://127.0.0.1:${bClients.port}`,
      /** The only node that can be master. */
      a,
      /** New primary shards go to this one, because `a` has more shards already. */
      b,
      /**
       * Resets every connection of `b`, also new ones, from clients and between the nodes. Both take it for dead, and it comes
       * back without a start of 15 to 50 s.
       */
      cutB(): void {
        for (const proxy of ofB) proxy.down();
      },
      joinB(): void {
        for (const proxy of ofB) proxy.up();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function request(url: string, body: object): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(url, { method: 'PUT', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${await answer.text()}`);
}
