import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchElasticsearch } from './elasticsearch-fetch.ts';
import type { NativeContext } from './native.ts';
import { untilReady } from './ports.ts';
import { run, type ServerProcess, startProcess } from './processes.ts';
import type { StartRequest } from './servers.ts';

const CHOWN_TIMEOUT_MS = 10_000;

/** The quick compiler only: up in 13 to 18 s where the full one takes 26 s (two busy cores); searches are slower in the long run. */
const QUICK_START = ['-XX:TieredStopAtLevel=1'];

export interface NodeOptions extends Pick<StartRequest, 'purpose' | 'elasticsearchHeapMb'> {
  /** Its folder in the run's folder. A node that starts again finds its data there. */
  name: string;
  /** Lines of elasticsearch.yml beside those that every node has. */
  settings: string[];
}

/** Starts a node, fetched first if need be, and resolves once its cluster serves requests. */
export async function startNode(
  context: NativeContext,
  jdk: string,
  { name, settings, purpose, elasticsearchHeapMb: heapMb }: NodeOptions,
): Promise<{ url: string; server: ServerProcess }> {
  const home = await fetchElasticsearch(context, jdk);
  const folder = join(context.runFolder, name);
  const config = join(folder, 'config');
  for (const part of ['data', 'logs', 'tmp']) await mkdir(join(folder, part), { recursive: true });
  await cp(join(home, 'config'), config, { recursive: true });
  await writeFile(join(config, 'elasticsearch.yml'), settingsOf(folder, settings));
  await writeFile(
    join(config, 'jvm.options'),
    jvmOptionsOf(await readFile(join(home, 'config/jvm.options'), 'utf8')),
  );
  if (context.user) {
    const { uid, gid } = context.user;
    await run({ command: 'chown', args: ['-R', `${uid}:${gid}`, folder] }, CHOWN_TIMEOUT_MS);
  }

  const java = join(jdk, 'bin/java');
  const server = startProcess({
    command: java,
    args: [
      ...['-Xms32m', '-Xmx64m', '-XX:TieredStopAtLevel=1'],
      ...['-cp', join(home, 'lib/tools/server-launcher/*')],
      'org.elasticsearch.server.launcher.ServerLauncher',
    ],
    // The server takes its working directory for its home.
    cwd: home,
    env: {
      ES_HOME: home,
      ES_PATH_CONF: config,
      ES_JAVA_HOME: jdk,
      JAVA_HOME: jdk,
      JAVA: java,
      ES_JAVA_OPTS: [`-Xms${heapMb}m -Xmx${heapMb}m`, ...(purpose === 'tests' ? QUICK_START : [])].join(' '),
      ES_TMPDIR: join(folder, 'tmp'),
      ES_DISTRIBUTION_TYPE: 'tar',
      // For every JVM of the start, also those that the launcher asks for their flags: no /tmp/hsperfdata_*.
      JDK_JAVA_OPTIONS: `-XX:-UsePerfData -Djava.io.tmpdir=${join(folder, 'tmp')}`,
      // The developer may have set this for another JVM.
      JAVA_TOOL_OPTIONS: undefined,
    },
    user: context.user,
  });
  // Its data is thrown away, and a graceful stop takes seconds.
  context.own(server, 'SIGKILL');

  let url = '';
  const isReady = async () => {
    url = await publishedUrl(join(folder, 'logs/http.ports'));
    return url !== '' && isHealthy(url);
  };
  if (await untilReady(server, isReady)) return { url, server };
  throw new Error(`Elasticsearch did not start\n${server.lastLines()}`);
}

/** Whether the Elasticsearch at `url` serves requests. */
async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/_cluster/health?wait_for_status=yellow&timeout=1s`, {
      signal: AbortSignal.timeout(3000),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/** Settings of modules that this distribution leaves out (geoip, ml) would be refused. */
function settingsOf(folder: string, settings: string[]): string {
  return [
    'cluster.name: company-directory-tests',
    'xpack.security.enabled: false',
    'network.host: 127.0.0.1',
    // The node writes the port that it got to logs/http.ports.
    'node.portsfile: true',
    // A developer's disk is often more than 90 % full; the tests write a few megabytes.
    'cluster.routing.allocation.disk.threshold_enabled: false',
    `path.data: ${JSON.stringify(join(folder, 'data'))}`,
    `path.logs: ${JSON.stringify(join(folder, 'logs'))}`,
    ...settings,
    '',
  ].join('\n');
}

/** The distribution's own options without its garbage-collection log and heap dumps. */
function jvmOptionsOf(original: string): string {
  return original
    .split('\n')
    .filter((line) => !/-Xlog:gc|HeapDumpOnOutOfMemoryError|HeapDumpPath/.test(line))
    .join('\n');
}

/** The address in a file of ports; empty if there is none yet. */
export async function publishedUrl(portsFile: string): Promise<string> {
  const ports = await readFile(portsFile, 'utf8').catch(() => '');
  const address = ports.split('\n').find((line) => line.startsWith('127.0.0.1:'));
  return address ? `http://${address.trim()}` : '';
}
