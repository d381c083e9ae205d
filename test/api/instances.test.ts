/** Processes of the service share credits and the directory. Buckets: failures/dependencies.test.ts, keys: metering/keys/authenticate.test.ts. */
import { afterAll, expect, test } from 'bun:test';
import { PLENTY, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { csv, nif } from '../support/companies.ts';
import { readMetrics } from '../support/metrics.ts';
import '../support/modes.ts';
import { storeRecord } from '../support/records.ts';
import { until } from '../support/until.ts';

/** Each costs half a second of CPU. More than three would show nothing further. */
const PROCESSES = 3;
const api = await startApi({ mode: 'full', directory: csv(1, 3) });
const processes = await Promise.all(Array.from({ length: PROCESSES }, () => api.spawnInstance()));
afterAll(() => api.stop());
const plenty = { limits: { requestsPerMinute: 1_000_000 } };

test('processes with 100 requests each at once answer exactly the 137 that there are credits for', async () => {
  const caller = await api.caller({ ...plenty, included: 100, credits: 37 });
  const asked = processes.flatMap((instance) =>
    Array.from({ length: 100 }, () => ask(instance, '/companies?q=empresa', { key: caller.key })),
  );
  const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === null)).toHaveLength(137);
  expect(new Set(kinds)).toEqual(new Set([null, 'monthly-quota-exceeded']));
  expect(await api.ledger(caller)).toEqual({ used: 137, credits: 0 });
});

test('processes with lists at once pay exactly the items that there are credits for, the first ones of each list', async () => {
  for (let n = 0; n < 50; n += 1) await storeRecord(api.sql, nif(n), 'Empresa');
  const nifs = Array.from({ length: 50 }, (_, n) => nif(n));
  const caller = await api.caller({ ...plenty, included: 100, credits: 37 });
  const asked = [0, 1, 2, 0, 1, 2].map((n) =>
    ask(processes[n]!, '/lookups', { key: caller.key, json: { nifs } }),
  );
  const counts = (await Promise.all(asked)).map(({ kind, body }) => {
    if (kind === 'monthly-quota-exceeded') return 0;
    const statuses = body.data.map(({ status }: { status: number }) => status);
    const paid = statuses.filter((status: number) => status === 200).length;
    expect(statuses).toEqual([...Array(paid).fill(200), ...Array(50 - paid).fill(429)]);
    return paid;
  });
  expect(counts.toSorted((a, b) => b - a)).toEqual([50, 50, 37, 0, 0, 0]);
  expect(await api.ledger(caller)).toEqual({ used: 137, credits: 0 });
});

const IMPORTS = 4;
const CLIENTS = 4;
const directory = (version: number) => `nif,legal_name\n${nif(1)},Azul versão ${version}\n${nif(2)},Verde\n`;

test('once an import is done no instance answers from the directory before it, while their caches are in use', async () => {
  const { key } = await api.caller(PLENTY);
  const instances = processes.slice(0, 2);
  type Asked = (typeof instances)[number];
  const nameOn = async (instance: Asked): Promise<string> => {
    const { status, body } = await ask(instance, '/companies?q=azul', { key });
    // The search of a busy machine may fail; then it is asked again.
    return status === 200 ? body.data[0].legal_name : nameOn(instance);
  };
  const cacheHits = async (instance: Asked) =>
    (await readMetrics(instance))['search_cache_answers_total{outcome="hit"}']!;
  await api.importDirectory(directory(0));
  let imported = 0;
  let stopped = false;
  const old: string[] = [];
  const client = async (instance: Asked) => {
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
