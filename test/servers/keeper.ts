/**
 * The process that owns the servers of a run. When a process of the run first asks for a server, it takes the one of the environment, or
 * starts one. It ends with its starter: its standard input reaches the end of file when that process is gone, also
 * after a `kill -9`. Then every server is stopped, its files are removed, and a server of somebody else loses the run's databases.
 * If its starter was killed, the keeper also ends what tests have started themselves.
 */
import { randomBytes } from 'node:crypto';
import { endLeftBehind } from './left-behind.ts';
import { createNative } from './native.ts';
import { dropDatabases } from './postgres.ts';
import { killEverything } from './processes.ts';
import {
  type KeeperMessage,
  SERVER_NAMES,
  type ServerName,
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

/** The address of a server that somebody else has started. */
function givenUrl(name: ServerName): string | undefined {
  const variables = [VARIABLES[name], VARIABLES[name].replace('TEST_', '')];
  return variables.map((variable) => process.env[variable]?.replace(/\/+$/, '')).find(Boolean);
}

const native = createNative(request, say);
const starts = new Map<ServerName, Promise<string>>();
const start = async (name: ServerName) => givenUrl(name) ?? native.start(name);

const leave = () => {
  leaving ??= (async () => {
    const foreign = starts.has('postgres') ? givenUrl('postgres') : undefined;
    if (foreign && request.runId) await dropDatabases(foreign, request.runId).catch(() => undefined);
    await native.stop().catch(() => undefined);
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
