/**
 * `bun bench/agents.ts`: what a lookup costs over the Model Context Protocol, held against the same lookup over REST, in turns on the
 * same process. Prints the CPU of each for a right answer, and the medians of the ratios. Wants wrk.
 * With `--test` it asks with test keys, whose answers come from memory: what is left is the protocol's own cost.
 */
import { parseArgs } from 'node:util';
import { calledUpBy, WORLD } from '../src/companies/test-world/world.ts';
import { generateSecret } from '../src/metering/keys/secret.ts';
import { createKey } from '../src/metering/keys/store.ts';
import type { Sql } from '../src/platform/postgres/connect.ts';
import { generateCompany, seededRandom } from './lib/names.ts';
import { cpuSeconds, storeProcesses } from './lib/processes.ts';
import { startProcess, startStack } from './lib/stack.ts';
import { get, post, runWrk } from './lib/wrk.ts';

const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '64' },
    companies: { type: 'string', default: '20000' },
    test: { type: 'boolean', default: false },
  },
});

const companies = Number(options.companies);
const ACCOUNTS = 200;
const REQUESTS = 20_000;
/** Bun's compiler works for half a minute. */
const WARM_UP_SECONDS = 15;

const REVISION = '2026-07-28';
const HEADERS = { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': REVISION };
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

function call(nif: string, key: string): string {
  const params = { name: 'get_company', arguments: { nif }, _meta: META };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return post('/mcp', 'bench', body, key, {
    ...HEADERS,
    'Mcp-Method': 'tools/call',
    'Mcp-Name': 'get_company',
  });
}

/** A test key of each account. */
async function testKeys(sql: Sql): Promise<string[]> {
  const accounts = await sql<{ id: string }[]>`SELECT id FROM accounts`;
  const keys = accounts.map(({ id }) =>
    createKey(sql, id, '', 'bench', null, generateSecret(undefined, true)),
  );
  return (await Promise.all(keys)).map(({ secret }) => secret);
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

const stack = await startStack(companies, companies, ACCOUNTS);
const service = await startProcess(['src/main.ts', 'serve'], stack.environment);
try {
  const keys = options.test ? await testKeys(stack.sql) : stack.keys;
  const nifs = options.test
    ? WORLD.companies.map(({ nif }) => nif).filter((nif) => calledUpBy(nif) === undefined)
    : Array.from({ length: companies }, (_, index) => generateCompany(index).nif);
  const random = seededRandom(3);
  const oneOf = (list: string[]) => list[Math.floor(random() * list.length)]!;
  const drawn = (write: (nif: string, key: string) => string) =>
    Array.from({ length: REQUESTS }, () => write(oneOf(nifs), oneOf(keys)));
  const requests = {
    rest: drawn((nif, key) => get(`/api/v1/companies/${nif}`, 'bench', key)),
    mcp: drawn(call),
  };
  /** CPU of the service, and of it and its stores, µs an answer. */
  async function burst(kind: keyof typeof requests, seconds = Number(options.seconds)) {
    const stores = Object.values(await storeProcesses(stack.servers, stack.sql)).flat();
    const read = () => ({ service: cpuSeconds([service.pid]), stores: cpuSeconds(stores) });
    const before = read();
    const load = await runWrk({ ...service, requests: requests[kind] }, Number(options.connections), seconds);
    await Bun.sleep(500);
    const after = read();
    if (load.refused + load.failed > 0)
      throw new Error(`${kind}: ${load.refused} refused, ${load.failed} failed`);
    const us = (name: keyof typeof before) => ((after[name] - before[name]) * 1e6) / load.requests;
    return { service: us('service'), sum: us('service') + us('stores'), perSecond: load.requestsPerSecond };
  }
  await burst('rest', WARM_UP_SECONDS);
  await burst('mcp', WARM_UP_SECONDS);
  const pairs: { rest: Awaited<ReturnType<typeof burst>>; mcp: Awaited<ReturnType<typeof burst>> }[] = [];
  for (let pair = 0; pair < Number(options.pairs); pair += 1) {
    const [first, second] = pair % 2 === 0 ? (['rest', 'mcp'] as const) : (['mcp', 'rest'] as const);
    const one = await burst(first);
    const other = await burst(second);
    pairs.push(first === 'rest' ? { rest: one, mcp: other } : { rest: other, mcp: one });
  }
  for (const figure of ['service', 'sum', 'perSecond'] as const) {
    const rest = median(pairs.map((pair) => pair.rest[figure]));
    const mcp = median(pairs.map((pair) => pair.mcp[figure]));
    const ratio = median(pairs.map((pair) => pair.mcp[figure] / pair.rest[figure]));
    console.log(`${figure}: REST ${rest.toFixed(1)}, MCP ${mcp.toFixed(1)}, ratio ${ratio.toFixed(2)}`);
  }
} finally {
  await service.stop();
  await stack.stop();
}
