/**
 * The process that owns the servers of a run. It starts a server when a process of the run first asks for it, from the first of
 * its sources that has it. It ends with its starter: its standard input reaches the end of file when that process is gone, also
 * after a `kill -9`. Then every server is stopped, its files are removed, and a server of somebody else loses the run's databases.
 * If its starter was killed, the keeper also ends what tests have started themselves.
 */
import { randomBytes } from 'node:crypto';
import { composeStores } from './compose-stores.ts';
import { dropDatabases } from './databases.ts';
import { createDocker } from './docker.ts';
import { endLeftBehind } from './left-behind.ts';
import { createNative } from './native.ts';
import { killEverything } from './processes.ts';
import {
  type KeeperMessage,
  SERVER_NAMES,
  type ServerName,
  type ServerSource,
  type StartRequest,
  VARIABLES,
} from './servers.ts';

const request = JSON.parse(process.argv[2] ?? '{}') as StartRequest;

let leaving: Promise<never> | undefined;
let isToldToStop = false;

// The reader of this output may be gone, and its messages with it.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});
const tell = (message: KeeperMessage) => void process.stdout.write(`${JSON.stringify(message)}\n`);
const say = (line: string) => {
  if (!leaving) tell({ say: line });
};

const environment: ServerSource = {
  async start(name) {
    const variables = [VARIABLES[name], VARIABLES[name].replace('TEST_', '')];
    return variables.map((variable) => process.env[variable]?.replace(/\/+$/, '')).find(Boolean);
  },
  stop: async () => {},
};
const stores = composeStores(say);
const sources = [environment, stores, createDocker(request, say), createNative(request, say)];

/** The address of a Postgres that somebody else has started. */
let foreignPostgres: string | undefined;
const starts = new Map<ServerName, Promise<string>>();

async function start(name: ServerName): Promise<string> {
  for (const source of sources) {
    const url = await source.start(name);
    if (url === undefined) continue;
    if (name === 'postgres' && (source === environment || source === stores)) foreignPostgres = url;
    return url;
  }
  throw new Error(`${name} comes from nowhere`);
}

const leave = () => {
  leaving ??= (async () => {
    if (foreignPostgres && request.runId)
      await dropDatabases(foreignPostgres, request.runId).catch(() => undefined);
    // One after the other: the last one lets no process start any more.
    for (const source of sources) await source.stop().catch(() => undefined);
    await killEverything();
    if (request.runId && !isToldToStop) await endLeftBehind(request.runId, 0);
    process.exit(0);
  })();
  return leaving;
};

process.stdin.on('data', () => {
  isToldToStop = true;
});
process.stdin.on('end', leave);
process.stdin.on('error', leave);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, leave);

// Other users of this machine can reach the port, but don't know the path.
const secret = randomBytes(12).toString('hex');
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  // A first start fetches for minutes.
  idleTimeout: 0,
  async fetch({ url }) {
    const name = SERVER_NAMES.find((name) => new URL(url).pathname === `/${secret}/${name}`);
    if (name === undefined) return new Response('', { status: 404 });
    let started = starts.get(name);
    if (started === undefined) {
      started = start(name);
      starts.set(name, started);
      started.catch((error: Error) => leaving ?? tell({ failed: error.message }));
    }
    // A server that can't be started ends the run, so that this one need not be answered.
    return new Response(await started.catch(() => new Promise<never>(() => {})));
  },
});
tell({ address: `${server.url.origin}/${secret}` });
