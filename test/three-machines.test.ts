import { expect, test } from 'bun:test';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { nodesOf, postgresHosts } from '../src/platform/config/addresses.ts';
import { readConfig } from '../src/platform/config/config.ts';
import { CLOSE_TIMEOUT_MS, LONGEST_STOP_MS } from '../src/platform/runtime/shutdown.ts';
import { SECOND } from '../src/platform/units.ts';
import { ROOT } from './support/command.ts';

type Compose = {
  services: Record<
    string,
    { image?: string; environment?: Record<string, string>; stop_grace_period?: string; volumes?: string[] }
  >;
};

const compose = async (file: string) => Bun.YAML.parse(await Bun.file(join(ROOT, file)).text()) as Compose;

test("the example's instances have a configuration that the service takes, on all nodes and hosts", async () => {
  const { services } = await compose('examples/three-machines/docker-compose.yml');
  for (const name of ['api-a', 'api-b', 'api-c']) {
    const { environment, stop_grace_period: grace } = services[name]!;
    const filled = Object.entries(environment!).map(([variable, value]) => [
      variable,
      value.replace(/\$\{(\w+):[?-][^}]*\}/g, (_, secret) => (secret === 'NIF_PT_KEY' ? '' : 'a'.repeat(32))),
    ]);
    const config = readConfig(Object.fromEntries(filled));
    expect(nodesOf(config.elasticsearchUrl!)).toHaveLength(3);
    expect(postgresHosts(config.databaseUrl!)).toHaveLength(3);
    expect(config.databaseUrl).toEndWith('target_session_attrs=primary');
    expect(config.shutdownDelayS).toBeGreaterThan(2);
    expect(Number.parseInt(grace!, 10) * SECOND).toBeGreaterThan(
      config.shutdownDelayS * SECOND + LONGEST_STOP_MS + CLOSE_TIMEOUT_MS,
    );
  }
});

test("the example's servers are those of docker-compose.yml", async () => {
  const [example, main] = await Promise.all(
    ['examples/three-machines/docker-compose.yml', 'docker-compose.yml'].map(compose),
  );
  for (const [server, count] of [
    ['elasticsearch', 3],
    ['postgres', 3],
    ['redis', 2],
  ] as const) {
    const images = Object.entries(example!.services)
      .filter(([name]) => name.startsWith(`${server}-`))
      .map(([, { image }]) => image);
    expect(images).toEqual(Array(count).fill(main!.services[server]!.image));
  }
});

test('the standbys of the example wait as the guide says', async () => {
  const guide = await Bun.file(join(ROOT, 'examples/three-machines/README.md')).text();
  const settings = [...guide.matchAll(/^\| `(\w+) ?= ?([^`]+)`/gm)].map(([, name, value]) => [name!, value!]);
  expect(settings.map(([name]) => name)).toEqual([
    'wal_retrieve_retry_interval',
    'wal_receiver_timeout',
    'tcp_user_timeout',
  ]);
  const scripts = await Promise.all(
    ['postgres-first.sh', 'postgres.sh'].map((name) =>
      Bun.file(join(ROOT, 'examples/three-machines', name)).text(),
    ),
  );
  for (const [name, value] of settings)
    expect(scripts.join()).toMatch(new RegExp(`${name} ?= ?${value}[; ]`));
});

test('the files that the example mounts are there, and its scripts can be run', async () => {
  const { services } = await compose('examples/three-machines/docker-compose.yml');
  const mounted = Object.values(services)
    .flatMap(({ volumes = [] }) => volumes)
    .flatMap((volume) => /^\.\/([^:]+):/.exec(volume)?.[1] ?? []);
  expect([...new Set(mounted)].toSorted()).toEqual(['haproxy.cfg', 'postgres-first.sh', 'postgres.sh']);
  for (const file of mounted) {
    const mode = file.endsWith('.sh') ? constants.X_OK : constants.R_OK;
    await access(join(ROOT, 'examples/three-machines', file), mode);
  }
});
