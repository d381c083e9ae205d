import { beforeAll, describe, expect, test } from 'bun:test';
import { access, constants, copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import manifest from '../package.json';
import { nodesOf, postgresHosts } from '../src/platform/config/addresses.ts';
import { readConfig, SETTINGS } from '../src/platform/config/config.ts';
import { CLOSE_TIMEOUT_MS, LONGEST_STOP_MS } from '../src/platform/runtime/shutdown.ts';
import { SECOND } from '../src/platform/units.ts';
import { ROOT } from './support/command.ts';
import { createFolder } from './support/folder.ts';

type Lists = 'cap_drop' | 'cap_add' | 'security_opt' | 'tmpfs' | 'ports' | 'volumes' | 'networks' | 'secrets';
interface Service extends Partial<Record<Lists, string[]>> {
  image?: string;
  environment?: Record<string, string>;
  stop_grace_period?: string;
  pids_limit?: number;
}
interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean }>;
  secrets: Record<string, { file: string }>;
}

const textOf = (path: string) => Bun.file(join(ROOT, path)).text();
const readCompose = async (path: string) => Bun.YAML.parse(await textOf(path)) as Compose;

const { services, networks, secrets } = await readCompose('docker-compose.yml');
/** Three machines. */
const example = await readCompose('examples/three-machines/docker-compose.yml');
const environment = services.api!.environment!;

const ALL = Object.values(SETTINGS);

/** Variables that the compose file deliberately doesn't have, and why. */
const LEFT_OUT: Record<string, string> = {
  DATA_DIR: 'nothing is stored in the container: Postgres is a server, and AUTH_SECRET a file',
  ELASTICSEARCH_API_KEY: 'the Elasticsearch beside it takes user and password, in its URL',
};

/** Variables that the compose file sets itself, whatever the shell says, and why. */
const FIXED: Record<string, string> = {
  HOST: 'inside the container it is every address; BIND_ADDRESS says where it is published',
  PORT: 'inside the container it is always the same; API_PORT says where it is published',
  DATABASE_URL: 'the Postgres beside it, from a secret',
  ELASTICSEARCH_URL: 'the Elasticsearch beside it, from a secret',
  REDIS_URL: 'the Redis beside it, from a secret',
  AUTH_SECRET: 'from a secret',
  METRICS_TOKEN: 'from a secret',
};

test('the compose file passes every variable on, except those left out or fixed for a reason', () => {
  const expected = ALL.map(({ name }) => name).filter((name) => !(name in LEFT_OUT));
  const names = new Set(Object.keys(environment).map((name) => name.replace(/_FILE$/, '')));
  expect([...names].toSorted()).toEqual(expected.toSorted());
  for (const name of expected.filter((name) => !(name in FIXED))) {
    expect([name, environment[name]]).toEqual([name, expect.stringContaining(`\${${name}:-`)]);
  }
  for (const name of Object.keys(FIXED)) {
    expect(environment[name] ?? environment[`${name}_FILE`]).not.toContain('$');
  }
});

test('every secret that is not fixed can be a value or a file, and no fixed one is a value', () => {
  for (const { name, isSecret } of ALL) {
    if (!isSecret || name in LEFT_OUT) continue;
    // A file that exists for every installation: a value beside it would be refused.
    const isFixed = name in FIXED;
    const file = isFixed ? expect.stringMatching(/^\/run\/secrets\//) : `\${${name}_FILE:-}`;
    expect([name, environment[`${name}_FILE`]]).toEqual([name, file]);
    expect([name, environment[name]]).toEqual([name, isFixed ? undefined : `\${${name}:-}`]);
  }
});

test('every container has no capability, no way to gain one, and bounded processes and temporary files', () => {
  for (const [name, service] of Object.entries(services)) {
    const runs = name === 'elasticsearch' ? 'exec' : 'noexec';
    expect([name, { cap_add: undefined, ...service }]).toMatchObject([
      name,
      {
        cap_drop: ['ALL'],
        cap_add: undefined,
        security_opt: ['no-new-privileges:true'],
        pids_limit: expect.any(Number),
        tmpfs: [expect.stringMatching(new RegExp(`^/tmp:size=\\d+m,${runs},nosuid,nodev`))],
      },
    ]);
  }
});

test('only the API is published, and the stores have a password each and no way out', () => {
  expect(networks.stores).toEqual({ internal: true });
  for (const [name, { ports, networks, secrets }] of Object.entries(services)) {
    if (name === 'api') continue;
    expect([name, ports, networks]).toEqual([name, undefined, ['stores']]);
    expect([name, secrets?.length]).toEqual([name, expect.any(Number)]);
  }
  expect(services.elasticsearch!.environment!['xpack.security.enabled']).toBe('true');
  expect(services.api!.environment!.SIGN_UP).toEndWith(':-closed}');
});

describe('deploy/make-secrets', () => {
  const folder = createFolder('secrets');
  const run = () => Bun.$`sh ${join(folder, 'deploy/make-secrets')}`.cwd('/').text();
  const read = (name: string) => Bun.file(join(folder, 'secrets', name)).text();
  beforeAll(async () => {
    await mkdir(join(folder, 'deploy'));
    await copyFile(join(ROOT, 'deploy/make-secrets'), join(folder, 'deploy/make-secrets'));
    await run();
  });

  test('makes exactly the files that the compose file names', async () => {
    const named = Object.values(secrets).map(({ file }) => /:-\.\/secrets\/(.+)\}$/.exec(file)![1]!);
    expect((await readdir(join(folder, 'secrets'))).toSorted()).toEqual([...named, 'api'].toSorted());
    const used = Object.values(services).flatMap(({ secrets = [] }) => secrets);
    expect(used.toSorted()).toEqual(Object.keys(secrets).toSorted());
  });

  test('the service takes them, and the stores have the passwords of its addresses', async () => {
    const env = Object.fromEntries(
      Object.entries(environment)
        .filter(([name]) => name.endsWith('_FILE') && name.replace(/_FILE$/, '') in FIXED)
        .map(([name, path]) => [name, path.replace('/run/secrets', join(folder, 'secrets'))]),
    );
    const config = readConfig(env);
    const passwordOf = (address: string | null) => new URL(address!).password;
    expect(`${passwordOf(config.databaseUrl)}\n`).toBe(await read('database-password'));
    expect(`${passwordOf(config.elasticsearchUrl)}\n`).toBe(await read('elasticsearch-password'));
    expect(`requirepass ${passwordOf(config.redisUrl)}\n`).toBe(await read('redis-config'));
    expect(config.authSecret).toMatch(/^[0-9a-f]{48}$/);
    expect(config.metricsToken).toMatch(/^[0-9a-f]{48}$/);
  });

  test('the folder is closed to others, and its files are open to the users of the containers', async () => {
    expect((await stat(join(folder, 'secrets'))).mode & 0o777).toBe(0o700);
    for (const name of Object.keys(secrets)) {
      expect([name, (await stat(join(folder, 'secrets', name))).mode & 0o777]).toEqual([name, 0o644]);
    }
  });

  test('run again it makes only what is missing', async () => {
    const before = await Promise.all(['postgres-password', 'redis-config'].map(read));
    await rm(join(folder, 'secrets/redis-url'));
    expect(await run()).toBe('made secrets/redis-url\n');
    expect(await Promise.all(['postgres-password', 'redis-config'].map(read))).toEqual(before);
    expect(await run()).toBe('');
  });
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

test('the service is not killed before the longest stop is over', () => {
  const graceMs = Number(/^(\d+)s$/.exec(services.api!.stop_grace_period!)![1]) * SECOND;
  const delayS = Number(/^\$\{SHUTDOWN_DELAY_S:-(\d+)\}$/.exec(environment.SHUTDOWN_DELAY_S!)![1]);
  expect(graceMs).toBeGreaterThan(delayS * SECOND + LONGEST_STOP_MS + CLOSE_TIMEOUT_MS);
});

test("the image's DATA_DIR is there for its user alone, who could not make it", async () => {
  const dockerfile = await textOf('Dockerfile');
  const user = /^USER (\w+)$/m.exec(dockerfile)![1];
  const dataDir = /^ENV .*\bDATA_DIR=(\S+)/m.exec(dockerfile)![1];
  expect(dockerfile.slice(0, dockerfile.indexOf('\nUSER '))).toContain(
    `install --directory --owner=${user} --group=${user} --mode=700 ${dataDir}\n`,
  );
});

test('several instances leave the published port to the balancer of three-machines', async () => {
  const override = await readCompose('examples/several-instances.yml');
  expect(override.services.api!.ports).toEqual([]);
  const { image, ports, volumes } = override.services.balancer!;
  expect(image).toBe(example.services.balancer!.image);
  expect(ports).toEqual([services.api!.ports![0]!.replace(/3000$/, '8080')]);
  const configuration = await textOf(volumes![0]!.split(':')[0]!);
  expect(configuration).toContain('server-template api 10 api:3000\n');
  expect(configuration).toContain('bind :8080\n');
});

test('docs/install.md makes what the unit of systemd expects, and its example of variables is read as it stands', async () => {
  const [unit, page, env] = await Promise.all(
    ['deploy/company-directory@.service', 'docs/install.md', 'deploy/company-directory.env'].map(textOf),
  );
  const of = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit!)![1]!;
  expect(page).toContain(
    `useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin ${of('User')}\n`,
  );
  expect(page).toContain(`ln -sfn /opt/company-directory-${manifest.version} ${of('WorkingDirectory')}\n`);
  for (const text of [page, await textOf('docs/operating.md')])
    expect(text).toContain(`git clone --branch v${manifest.version} `);
  expect(page).toContain(`deploy/company-directory.env ${of('EnvironmentFile')}\n`);
  expect(page).toContain(`--group=${of('User')} --mode=640`);
  expect(of('ExecStart')).toContain(' /usr/local/bin/bun ');
  expect(page).toContain('BUN_INSTALL=/usr/local bash -s bun-v1.4.5\n');
  const variables = Object.fromEntries(
    [...env!.matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
  );
  const known: string[] = ALL.map(({ name }) => name);
  expect(Object.keys(variables).filter((name) => !known.includes(name))).toEqual([]);
  const secret = 'x'.repeat(48);
  const filled = { ...variables, AUTH_SECRET: secret, METRICS_TOKEN: secret };
  expect(readConfig(filled)).toMatchObject({ shutdownDelayS: 5, signUp: 'closed', nifPtKey: null });
});

test('HAProxy takes fewer connections than an instance has file descriptors, and listens on this machine alone', async () => {
  const most = Number(/^ {2}maxconn (\d+)$/m.exec(await textOf('examples/three-machines/haproxy.cfg'))![1]);
  const files = Number(/^LimitNOFILE=(\d+)$/m.exec(await textOf('deploy/company-directory@.service'))![1]);
  expect(most).toBeLessThan(files);
  const [, commands] = /^```sh\n(sed [^`]*)^```$/m.exec(await textOf('docs/performance.md'))!;
  const made = await Bun.$`bash -c ${commands!.replace('> /etc/haproxy/haproxy.cfg', '')}`.cwd(ROOT).text();
  expect(made.match(/^ *bind .*$/gm)).toEqual(['  bind 127.0.0.1:8080']);
  expect(made.match(/^ *server [ab] .*$/gm)?.slice(0, 2)).toEqual([
    '  server a 127.0.0.1:3001',
    '  server b 127.0.0.1:3002',
  ]);
});

test("the unit of systemd ends after the longest stop, and takes its port from the instance's name, and starts again for ever", async () => {
  const unit = await textOf('deploy/company-directory@.service');
  const graceMs = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1]) * SECOND;
  expect(graceMs).toBeGreaterThan(5 * SECOND + LONGEST_STOP_MS + CLOSE_TIMEOUT_MS);
  expect(unit).toMatch(/^ExecStart=\/usr\/bin\/env PORT=%i \S+\/bun src\/main\.ts serve$/m);
  const advised = /allow ([\d,]+) \(`LimitNOFILE`\)/.exec(await textOf('docs/operating.md'))![1]!;
  // By default systemd gives up after five starts in 10 s: a refused Postgres ends each start within one.
  expect(unit.split('[Service]')[0]).toContain('\nStartLimitIntervalSec=0\n');
  expect(unit).toContain('\nRestart=always\nRestartSec=2\n');
  expect(unit).toMatch(/\nRestartPreventExitStatus=2\n/);
  expect(unit).toContain(`\nLimitNOFILE=${advised.replace(',', '')}\n`);
});

test("the example's instances have a configuration that the service takes, on all nodes and hosts", async () => {
  for (const name of ['api-a', 'api-b', 'api-c']) {
    const { environment, stop_grace_period: grace } = example.services[name]!;
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
  for (const [server, count] of [
    ['elasticsearch', 3],
    ['postgres', 3],
    ['redis', 2],
  ] as const) {
    const images = Object.entries(example.services)
      .filter(([name]) => name.startsWith(`${server}-`))
      .map(([, { image }]) => image);
    expect(images).toEqual(Array(count).fill(services[server]!.image));
  }
});

test('the standbys of the example wait as the guide says', async () => {
  const guide = await textOf('examples/three-machines/README.md');
  const settings = [...guide.matchAll(/^\| `(\w+) ?= ?([^`]+)`/gm)].map(([, name, value]) => [name!, value!]);
  expect(settings.map(([name]) => name)).toEqual([
    'wal_retrieve_retry_interval',
    'wal_receiver_timeout',
    'tcp_user_timeout',
  ]);
  const scripts = await Promise.all(
    ['postgres-first.sh', 'postgres.sh'].map((name) => textOf(`examples/three-machines/${name}`)),
  );
  for (const [name, value] of settings)
    expect(scripts.join()).toMatch(new RegExp(`${name} ?= ?${value}[; ]`));
});

test('the files that the example mounts are there, and its scripts can be run', async () => {
  const mounted = Object.values(example.services)
    .flatMap(({ volumes = [] }) => volumes)
    .flatMap((volume) => /^\.\/([^:]+):/.exec(volume)?.[1] ?? []);
  expect([...new Set(mounted)].toSorted()).toEqual(['haproxy.cfg', 'postgres-first.sh', 'postgres.sh']);
  for (const file of mounted) {
    const mode = file.endsWith('.sh') ? constants.X_OK : constants.R_OK;
    await access(join(ROOT, 'examples/three-machines', file), mode);
  }
});
