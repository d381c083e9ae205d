/** Searches on several instances while another process changes the directory. */
import { afterAll, expect, test } from 'bun:test';
import { type Instance, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import '../support/modes.ts';
import { readMetrics } from '../support/metrics.ts';
import { until } from '../support/until.ts';

const IMPORTS = 4;
const CLIENTS = 4;

const api = await startApi({ mode: 'full', directory: directory(0) });
const instances = [api, await api.startInstance()];
const caller = await api.caller({ limits: { requestsPerMinute: 10_000_000 }, included: 10_000_000 });
afterAll(() => api.stop());

function directory(version: number): string {
  return `nif,legal_name\n${nif(1)},Azul versão ${version}\n${nif(2)},Verde\n`;
}

async function nameOn(instance: Instance): Promise<string> {
  const { status, body } = await ask(instance, '/companies?q=azul', { key: caller.key });
  // The search of a busy machine may fail; then it is asked again.
  return status === 200 ? body.data[0].legal_name : nameOn(instance);
}

const cacheHits = async (instance: Instance) =>
  (await readMetrics(instance))['search_cache_answers_total{outcome="hit"}']!;

test('once an import is done no instance answers from the directory before it, while their caches are in use', async () => {
  let imported = 0;
  let stopped = false;
  const old: string[] = [];
  const client = async (instance: Instance) => {
    while (!stopped) {
      const before = imported;
      const version = Number((await nameOn(instance)).split(' ').at(-1));
      if (version < before) old.push(`version ${version} after the import of ${before}`);
      await Bun.sleep(25); // leaves the import most of the machine
    }
  };
  const clients = instances.flatMap((instance) => Array.from({ length: CLIENTS }, () => client(instance)));
  try {
    for (let version = 1; version <= IMPORTS; version += 1) {
      await api.importDirectory(directory(version));
      imported = version;
      for (const instance of instances) {
        expect(await nameOn(instance)).toBe(`Azul versão ${version}`);
        const before = await cacheHits(instance);
        await until('answers of the cache', async () => (await cacheHits(instance)) > before);
      }
    }
    // A rollback goes back by one: nothing older than that may come.
    imported = IMPORTS - 1;
    expect((await api.command('index', 'rollback')).code).toBe(0);
    for (const instance of instances) expect(await nameOn(instance)).toBe(`Azul versão ${IMPORTS - 1}`);
  } finally {
    stopped = true;
    await Promise.all(clients);
  }
  expect(old).toEqual([]);
});
