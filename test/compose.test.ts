import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { CLOSE_TIMEOUT_MS } from '../src/closers.ts';
import { LONGEST_STOP_MS } from '../src/service/stop.ts';
import { SECOND } from '../src/units.ts';
import { variablesOfConfig } from './support/config-variables.ts';
import { ROOT } from './support/service.ts';

interface Compose {
  services: Record<
    string,
    { image?: string; environment?: Record<string, string>; stop_grace_period?: string }
  >;
}

const { services } = Bun.YAML.parse(await Bun.file(join(ROOT, 'docker-compose.yml')).text()) as Compose;
const environment = services.api!.environment!;

/** Variables that the compose file deliberately doesn't have, and why. */
const LEFT_OUT: Record<string, string> = {
  NODE_EXTRA_CA_CERTS:
    'a path on the host says nothing inside the container; docs/operating.md has the override',
  NODE_TLS_REJECT_UNAUTHORIZED: 'is only ever refused',
  DATA_DIR: 'nothing is stored in the container: Postgres is a server, and AUTH_SECRET a file',
};

/** Variables that the compose file sets itself, whatever the shell says, and why. */
const FIXED: Record<string, string> = {
  HOST: 'inside the container it is every address; BIND_ADDRESS says where it is published',
  PORT: 'inside the container it is always the same; API_PORT says where it is published',
  DATABASE_URL: 'the Postgres beside it, from a secret',
  ELASTICSEARCH_URL: 'the Elasticsearch beside it',
  REDIS_URL: 'the Redis beside it',
  AUTH_SECRET: 'from a secret',
};

test('the compose file passes every variable on, but for those left out or fixed for a reason', () => {
  const expected = variablesOfConfig().names.filter((name) => !(name in LEFT_OUT));
  const names = Object.keys(environment).map((name) => name.replace(/_FILE$/, ''));
  expect(names.toSorted()).toEqual(expected.toSorted());
  for (const name of expected.filter((name) => !(name in FIXED))) {
    expect([name, environment[name]]).toEqual([name, expect.stringContaining(`\${${name}:-`)]);
  }
  for (const name of Object.keys(FIXED)) {
    expect(environment[name] ?? environment[`${name}_FILE`]).not.toContain('$');
  }
});

test('the public address follows the published port', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: compose reads it
  expect(environment.PUBLIC_URL).toBe('${PUBLIC_URL:-http://localhost:${API_PORT:-3000}}');
});

test('the images of the servers are of exact versions, so that a pull changes nothing', () => {
  const images = Object.values(services).flatMap(({ image }) => image ?? []);
  const versions = images.filter((image) => image.includes(':')).map((image) => image.split(':')[0]);
  expect(versions.toSorted()).toEqual(['elasticsearch', 'postgres', 'redis']);
  for (const image of images.filter((image) => image.includes(':')))
    expect(image).toMatch(/:\d+\.\d+(\.\d+)?$/);
});

test('the service is not killed before the longest stop is over, also with workers', () => {
  const graceMs = Number(/^(\d+)s$/.exec(services.api!.stop_grace_period!)![1]) * SECOND;
  // The parent waits for its workers, and closes what it holds itself.
  expect(graceMs).toBeGreaterThan(LONGEST_STOP_MS + CLOSE_TIMEOUT_MS);
});

test("the image's DATA_DIR is there for its user alone, who could not make it", async () => {
  const dockerfile = await Bun.file(join(ROOT, 'Dockerfile')).text();
  const user = /^USER (\w+)$/m.exec(dockerfile)![1];
  const dataDir = /^ENV .*\bDATA_DIR=(\S+)/m.exec(dockerfile)![1];
  expect(dockerfile.slice(0, dockerfile.indexOf('\nUSER '))).toContain(
    `install --directory --owner=${user} --group=${user} --mode=700 ${dataDir}\n`,
  );
});
