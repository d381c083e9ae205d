/**
 * The process that owns the test servers. It is started by `startServers` and ends with its starter: its standard input
 * reaches the end of file when that process is gone, also after a `kill -9`, and then everything is stopped and removed.
 */
import { startDocker } from './docker.ts';
import { startNative } from './native.ts';
import { killEverything } from './processes.ts';
import type { KeeperMessage, ServerSet, StartRequest } from './servers.ts';

const request = JSON.parse(process.argv[2] ?? '{}') as StartRequest;
let servers: ServerSet | undefined;
let leaving: Promise<never> | undefined;

// Nobody may be listening any more: then there is nobody to tell.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});
const tell = (message: KeeperMessage) => void process.stdout.write(`${JSON.stringify(message)}\n`);
const say = (line: string) => tell({ say: line });

const leave = (exitCode: number) => {
  leaving ??= (async () => {
    await servers?.stop().catch(() => undefined);
    await killEverything();
    process.exit(exitCode);
  })();
  return leaving;
};

process.stdin.on('end', () => leave(0));
process.stdin.on('error', () => leave(0));
process.stdin.resume();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => leave(0));

const bringUp = async (): Promise<ServerSet> => {
  servers = await startDocker(request, say);
  if (servers) {
    try {
      await servers.ready;
      return servers;
    } catch (error) {
      const reason = String((error as Error).message)
        .split('\n')
        .slice(0, 3)
        .join(' ');
      if (!leaving) say(`Docker did not bring the test servers up, trying native ones: ${reason}`);
      await servers.stop();
    }
  }
  servers = await startNative(request, say);
  await servers.ready;
  return servers;
};

try {
  const { urls } = await bringUp();
  tell({ ready: urls });
} catch (error) {
  if (!leaving) tell({ failed: String((error as Error).message) });
  await servers?.stop().catch(() => undefined);
}
