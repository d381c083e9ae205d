import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  disposeSeed,
  postgresPid,
  temporaryDirectory,
  usedDataDir,
} from '../platform/postgres/embedded/support.ts';
import { ask, checkLog } from '../support/ask.ts';
import { runCommand } from '../support/command.ts';
import { csv, nif } from '../support/companies.ts';
import { nifPtFound, type Provider, startProvider } from '../support/provider.ts';
import { type ServiceProcess, spawnService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** No server of any kind around it but the provider. */
let directory: ReturnType<typeof temporaryDirectory>;
let dataDir: string;
let provider: Provider;
let env: Record<string, string>;
/** `null` after a test that ended it. */
let running: ServiceProcess | null = null;
let service: ServiceProcess;
let key: string;
let account: string;
const services: ServiceProcess[] = [];
beforeAll(async () => {
  directory = temporaryDirectory('service');
  dataDir = await usedDataDir();
  provider = await startProvider();
  provider.answerAll((number) => nifPtFound(number));
  env = { DATA_DIR: dataDir, NIF_PT_URL: `${provider.url}/`, REGISTRY: 'none' };
  service = await start();
  ({ id: account } = await command('account', 'create', '--name', 'Embedded'));
  ({ secret: key } = await command('key', 'create', account));
});
beforeEach(async () => {
  service = running ?? (await start());
});
afterAll(async () => {
  await Promise.all(services.map((each) => each.kill()));
  await provider.close();
  await directory.dispose();
  await disposeSeed();
  for (const { logLines } of services) checkLog(logLines);
});

async function start(): Promise<ServiceProcess> {
  const started = await spawnService(env);
  services.push(started);
  running = started;
  return started;
}

/** The credits that the account has used. */
const used = async () => (await command('account', 'show', account)).used;
const command = async (...words: string[]) => {
  const { code, json, stderr } = await runCommand(env, ...words, '--json');
  expect([words, code, code === 0 ? '' : stderr]).toEqual([words, 0, '']);
  return json;
};

test('commands work beside the running server, and what they do is there at once', async () => {
  const file = join(directory.path, 'companies.csv');
  await Bun.write(file, csv(1, 30));
  expect(await command('companies', 'import', file)).toMatchObject({ read: 29, imported: 29, rejected: 0 });
  const before = await used();
  const search = await ask(service, '/companies?q=empresa', { key });
  expect([search.status, search.body.data.length]).toEqual([200, 20]);
  expect((await ask(service, `/companies/${nif(1)}`, { key })).status).toBe(200);
  expect(await command('companies', 'show', nif(1))).toMatchObject({ nif: Number(nif(1)), source: 'nif.pt' });
  expect(await command('account', 'show', account)).toMatchObject({ used: before + 2, keys: 1 });
});

test('after kill -9 of the server the next command recovers, with everything that was answered', async () => {
  const before = await used();
  expect((await ask(service, `/companies/${nif(2)}`, { key })).status).toBe(200);
  await service.kill('SIGKILL');
  running = null;
  expect(await used()).toBe(before + 1);
  expect(await command('companies', 'show', nif(2))).toMatchObject({ nif: Number(nif(2)) });
  // The last process that uses Postgres stops it.
  await until('Postgres to stop', () => postgresPid(dataDir) === null);
});

test('after kill -9 of server and Postgres alike the next start recovers', async () => {
  const before = await used();
  expect((await ask(service, `/companies/${nif(3)}`, { key })).status).toBe(200);
  const pid = postgresPid(dataDir)!;
  process.kill(service.pid, 'SIGKILL');
  process.kill(pid, 'SIGKILL');
  await service.exited;
  service = await start();
  expect((await ask(service, '/usage', { key })).body.data.quotas.requests.used).toBe(before + 1);
  expect(await command('companies', 'show', nif(3))).toMatchObject({ nif: Number(nif(3)) });
});

test.each(['SIGHUP', 'SIGTERM'] as const)(
  '%s stops the server with exit 0, and its Postgres with it',
  async (signal) => {
    expect(await service.kill(signal)).toBe(0);
    running = null;
    await until('Postgres to stop', () => postgresPid(dataDir) === null);
  },
);
