/** Two Elasticsearch nodes that a test starts for itself, to take one away. */
import { holdPort } from '../../src/service/listen.ts';
import { startNode } from '../servers/elasticsearch.ts';
import { findJdk } from '../servers/jdk.ts';
import { stopProcess } from '../servers/processes.ts';
import { startProxy } from './proxy.ts';
import { createOwnContext } from './secure-servers.ts';

export type ElasticsearchPair = Awaited<ReturnType<typeof startElasticsearchPair>>;

const BALLAST_SHARDS = 8;

/** Both start at once: 30 to 40 s on two busy cores. */
export async function startElasticsearchPair() {
  const { context, stop: stopServers } = await createOwnContext();
  const jdk = findJdk(context.user);
  if (jdk === undefined) throw new Error('two Elasticsearch nodes need a JDK 21+ and Maven on this machine');
  const held = Array.from({ length: 4 }, () => holdPort('127.0.0.1'));
  for (const { release } of held) release();
  const ports = held.map(({ port }) => port);
  const [aHttp, aTransport, bHttp, bTransport] = ports;
  const ofB = await Promise.all(ports.slice(1).map((port) => startProxy(`http://127.0.0.1:${port}`)));
  const [toA, bClients, toB] = ofB;
  const stop = async () => {
    await stopServers();
    for (const proxy of ofB) await proxy.close();
  };
  const startOne = async (name: string, port: number, settings: string[]) => {
    const shared = [`node.name: ${name}`, `http.port: ${port}`, 'node.processors: 1'];
    const options = { name, settings: [...shared, ...settings], elasticsearchHeapMb: 256 };
    const { server } = await startNode(context, jdk, { ...options, purpose: 'tests' });
    return {
      /** As a machine that loses its power: no goodbye. */
      kill: () => stopProcess(server, 'SIGKILL'),
      /** It keeps its connections, and answers nothing until `thaw`. */
      freeze: () => server.signal('SIGSTOP'),
      thaw: () => server.signal('SIGCONT'),
    };
  };
  try {
    const [a, b] = await Promise.all([
      startOne('a', aHttp!, [
        `transport.port: ${aTransport}`,
        `transport.publish_port: ${toA!.port}`,
        'node.roles: [master, data]',
        'cluster.initial_master_nodes: [a]',
      ]),
      startOne('b', bHttp!, [
        `transport.port: ${bTransport}`,
        `transport.publish_port: ${toB!.port}`,
        'node.roles: [data]',
        `discovery.seed_hosts: ["127.0.0.1:${toA!.port}"]`,
      ]),
    ]);
    await request(`http://127.0.0.1:${aHttp}/ballast?wait_for_active_shards=all`, {
      settings: {
        number_of_shards: BALLAST_SHARDS,
        number_of_replicas: 0,
        'routing.allocation.require._name': 'a',
      },
    });
    return {
      /** Both addresses with a comma between them. */
      url: `http://127.0.0.1:${aHttp},http://127.0.0.1:${bClients!.port}`,
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
