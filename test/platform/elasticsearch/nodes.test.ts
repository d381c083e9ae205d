import { afterEach, beforeEach, expect, test } from 'bun:test';
import { searchLines, sendSearches } from '../../../src/companies/search/msearch.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { nodePool } from '../../../src/platform/elasticsearch/nodes.ts';
import { until } from '../../support/until.ts';

const HEADERS = { 'content-type': 'application/json', 'x-elastic-product': 'Elasticsearch' };
const unavailable = () => Response.json({}, { status: 503, headers: HEADERS });
const silence = () => new Promise<Response>(() => {});
const found = () => Response.json({ responses: [{ status: 200 }] }, { headers: HEADERS });

type Node = {
  respond: () => Response | Promise<Response>;
  /** Requests, and those of them that were searches. */
  asked: number;
  searches: number;
  server: Bun.Server<undefined>;
};

let nodes: Node[];
beforeEach(() => {
  nodes = [0, 1, 2].map(() => {
    const node: Node = { respond: found, asked: 0, searches: 0, server: undefined as never };
    node.server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: ({ method }) => {
        node.asked += 1;
        if (method === 'POST') node.searches += 1;
        return node.respond();
      },
    });
    return node;
  });
});
afterEach(() => Promise.all(nodes.map(({ server }) => server.stop(true))));

const client = (count = nodes.length) =>
  createElasticsearch({
    elasticsearchUrl: nodes
      .slice(0, count)
      .map(({ server }) => server.url.origin)
      .join(','),
    elasticsearchApiKey: null,
  })!;
const search = (at: ReturnType<typeof client>, timeoutMs = 1500) =>
  sendSearches(at, [searchLines('companies', { match_all: {} })], timeoutMs);

test('searches go to the nodes in turn', async () => {
  const all = client();
  for (let i = 0; i < 9; i += 1) await search(all);
  expect(nodes.map(({ asked }) => asked)).toEqual([3, 3, 3]);
});

test.each<[string, (node: Node) => unknown]>([
  ['is gone', ({ server }) => server.stop(true)],
  ['answers 503', (node) => Object.assign(node, { respond: unavailable })],
  ['says nothing', (node) => Object.assign(node, { respond: silence })],
])('a search whose node %s is repeated on another one, and the node is passed over', async (_, lose) => {
  const all = client();
  lose(nodes[0]!);
  // At once, so that repeats meet each other, and one after another.
  await Promise.all(Array.from({ length: 6 }, () => search(all, 400)));
  for (let i = 0; i < 6; i += 1) await search(all, 400);
  // Our question whether it is back comes once a second, and is no search.
  expect(nodes[0]!.searches).toBeLessThanOrEqual(6);
});

test('a slow node is asked again when the other one is gone', async () => {
  const two = client(2);
  await search(two);
  nodes[1]!.server.stop(true);
  nodes[0]!.respond = () => {
    nodes[0]!.respond = found;
    return silence();
  };
  expect(await search(two)).toHaveLength(1);
  expect(nodes[0]!.searches).toBe(2);
});

test('no search finds out whether a node is back: it gets searches when it has answered our question', async () => {
  const all = client();
  const said: [node: string, isUp: boolean][] = [];
  nodePool(all).onChange = (node, isUp) => void said.push([node, isUp]);
  nodes[0]!.respond = silence;
  for (let i = 0; i < 6; i += 1) await search(all, 400);
  const { host } = nodes[0]!.server.url;
  await until('the node is down', () => said.length === 1);
  expect(nodes[0]!.searches).toBe(1);
  expect(nodePool(all).up()).toMatchObject({ [host]: false, [nodes[1]!.server.url.host]: true });
  expect(nodePool(all).downMs()).toBe(0);
  nodes[0]!.respond = found;
  await until('the node is up', () => said.length === 2);
  expect(said).toEqual([
    [host, false],
    [host, true],
  ]);
  for (let i = 0; i < 3; i += 1) await search(all);
  expect(nodes[0]!.searches).toBe(2);
});

test('all nodes are down from the first failure of the last of them on', async () => {
  const all = client();
  const beforeMs = performance.now();
  for (const node of nodes) node.server.stop(true);
  await expect(search(all)).rejects.toThrow();
  await until('all are down', () => Object.values(nodePool(all).up()).every((isUp) => !isUp));
  expect(nodePool(all).downMs()).toBeGreaterThan(0);
  expect(nodePool(all).downMs()).toBeLessThan(performance.now() - beforeMs);
});

test('all nodes are asked at once whether any answers', async () => {
  const all = client();
  await nodePool(all).askAll();
  for (const node of nodes.slice(0, 2)) node.respond = silence;
  await nodePool(all).askAll();
  for (const node of nodes) node.server.stop(true);
  await expect(nodePool(all).askAll()).rejects.toThrow(/refused|out of reach/);
});

test('one address alone is not waited for twice, and a lost connection is tried again at once', async () => {
  const one = client(1);
  nodes[0]!.respond = silence;
  await expect(search(one, 200)).rejects.toThrow('no answer in time');
  expect(nodes[0]!.asked).toBe(1);
  let requests = 0;
  nodes[0]!.respond = () => {
    requests += 1;
    return requests === 1 ? new Response('', { status: 502, headers: HEADERS }) : found();
  };
  expect(await search(one)).toHaveLength(1);
});
