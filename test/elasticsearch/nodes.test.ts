import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createElasticsearch } from '../../src/elasticsearch/client.ts';
import { sendSearches } from '../../src/search/msearch.ts';
import { until } from '../support/until.ts';

const HEADERS = { 'content-type': 'application/json', 'x-elastic-product': 'Elasticsearch' };
const found = () => Response.json({ responses: [{ status: 200 }] }, { headers: HEADERS });

type Node = { respond: () => Response | Promise<Response>; asked: number; server: Bun.Server<undefined> };

let nodes: Node[];
beforeEach(() => {
  nodes = [0, 1, 2].map(() => {
    const node: Node = { respond: found, asked: 0, server: undefined as never };
    node.server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: () => {
        node.asked += 1;
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
const search = (at: ReturnType<typeof client>, timeoutMs = 1500) => sendSearches(at, ['{}\n{}\n'], timeoutMs);

test('searches go to the nodes in turn', async () => {
  const all = client();
  for (let i = 0; i < 9; i += 1) await search(all);
  expect(nodes.map(({ asked }) => asked)).toEqual([3, 3, 3]);
});

test.each([
  ['is gone', (node: Node) => void node.server.stop(true)],
  [
    'answers 503',
    (node: Node) => {
      node.respond = () => Response.json({}, { status: 503, headers: HEADERS });
    },
  ],
  [
    'says nothing',
    (node: Node) => {
      node.respond = () => new Promise<Response>(() => {});
    },
  ],
])('a search whose node %s is repeated on another one, and the node is passed over', async (_, lose) => {
  const all = client();
  lose(nodes[0]!);
  const before = nodes[0]!.asked;
  // At once, so that repeats meet each other, and one after another.
  await Promise.all(Array.from({ length: 6 }, () => search(all, 400)));
  for (let i = 0; i < 6; i += 1) await search(all, 400);
  expect(nodes[0]!.asked - before).toBeLessThanOrEqual(6);
});

test('a slow node is asked again when the other one is gone', async () => {
  const two = client(2);
  await search(two);
  nodes[1]!.server.stop(true);
  nodes[0]!.respond = () => {
    nodes[0]!.respond = found;
    return new Promise<Response>(() => {});
  };
  expect(await search(two)).toHaveLength(1);
  expect(nodes[0]!.asked).toBe(2);
});

test('a node that is back is asked again', async () => {
  const all = client();
  nodes[0]!.respond = () => Response.json({}, { status: 503, headers: HEADERS });
  for (let i = 0; i < 3; i += 1) await search(all);
  nodes[0]!.respond = found;
  const before = nodes[0]!.asked;
  await until('the node', async () => {
    await search(all);
    return nodes[0]!.asked - before > 1;
  });
});

test('one address alone is not waited for twice, and a lost connection is tried again at once', async () => {
  const one = client(1);
  nodes[0]!.respond = () => new Promise<Response>(() => {});
  await expect(search(one, 200)).rejects.toThrow('no answer in time');
  expect(nodes[0]!.asked).toBe(1);
  let requests = 0;
  nodes[0]!.respond = () => {
    requests += 1;
    return requests === 1 ? new Response('', { status: 502, headers: HEADERS }) : found();
  };
  expect(await search(one)).toHaveLength(1);
});
