/** The probes of readiness. They check whether requests can be answered, not only whether a dependency is reachable. */
import { randomUUID } from 'node:crypto';
import type { DirectoryHealth } from '../companies/directory/watch.ts';
import type { OpenDirectory } from '../companies/search/open-search.ts';
import type { LedgerEvent } from '../metering/credits/charge.ts';
import { chargeCalls } from '../metering/credits/charge-batch.ts';
import { nodePool } from '../platform/elasticsearch/nodes.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { Probe } from '../platform/observability/probe.ts';
import type { Sql } from '../platform/postgres/connect.ts';
import type { Stores } from '../platform/stores/stores.ts';
import { SECOND } from '../platform/units.ts';
import type { Health, ProbeResult } from './health.ts';

/** A batch times out after 1.5 s, and its void is retried. A short outage of Postgres has ended by then. */
const LONGEST_FAILING_MS = 3 * SECOND;
/** An older failure says nothing about the next batch. */
const FAILURE_AGE_MS = 10 * SECOND;

/** Of no company. */
const ANY_NIF = { kind: 'nif', nif: '000000000' } as const;

/**
 * Postgres must be a primary, because every call writes its credit. One node of
 * Elasticsearch must answer. A search must find the directory; otherwise the service is degraded, because lookups still work.
 */
export function storeProbes(
  { sql, elasticsearch, search }: Pick<Stores, 'sql' | 'elasticsearch'> & Pick<OpenDirectory, 'search'>,
  directoryHealth: () => DirectoryHealth,
): Probe[] {
  const postgres: Probe = {
    name: 'postgres',
    required: true,
    async check(bound) {
      const [row] = await bound(sql<{ standby: boolean }[]>`SELECT pg_is_in_recovery() AS standby`);
      if (row!.standby) throw new Error('Postgres is a standby: nothing can be written');
    },
  };
  const directory: Probe = {
    name: 'directory',
    required: false,
    check: (bound) => bound(search.find(ANY_NIF)),
    warning: () => directoryHealth().warning ?? undefined,
  };
  if (elasticsearch === null) return [postgres, directory];
  const askAll = () => nodePool(elasticsearch).askAll();
  return [postgres, { name: 'elasticsearch', required: true, check: askAll }, directory];
}

/**
 * Without the ledger every call that costs a credit is a 503, also while Postgres answers reads. The probe charges nobody, which
 * fails if the statement can't run at all. A failure with some accounts alone shows in the events of the ledger only.
 */
export function createCreditsProbe(pointQueries: Sql): { probe: Probe; note(event: LedgerEvent): void } {
  /** The first and the latest failure since a batch was charged. */
  let failures: { firstMs: number; latestMs: number } | null = null;
  const isRecent = (nowMs: number) => failures !== null && nowMs - failures.latestMs < FAILURE_AGE_MS;
  return {
    note(event) {
      const latestMs = performance.now();
      if (event === 'charged') failures = null;
      else if (event === 'failed') {
        failures = { firstMs: isRecent(latestMs) ? failures!.firstMs : latestMs, latestMs };
      }
    },
    probe: {
      name: 'credits',
      required: true,
      async check(bound) {
        await bound(chargeCalls(pointQueries, [], randomUUID()));
        if (isRecent(performance.now()) && failures!.latestMs - failures!.firstMs > LONGEST_FAILING_MS)
          throw new Error('Postgres has charged no batch of credits for seconds');
      },
    },
  };
}

/** Shows in the metrics what is up, by the probes of readiness, and logs the nodes of Elasticsearch that go down and come back. */
export function observeDependencies(
  health: Pick<Health, 'results'>,
  { elasticsearch }: Pick<Stores, 'elasticsearch'>,
  log: Log,
  metrics: Metrics,
): void {
  const flags = (flag: (result: ProbeResult) => boolean) => (results: Record<string, ProbeResult>) =>
    Object.fromEntries(Object.entries(results).map(([name, result]) => [name, flag(result)]));
  metrics.gaugesOf(health.results, [
    {
      name: 'dependency_up',
      help: '1 while a dependency passes its probe of readiness.',
      label: 'dependency',
      values: flags(({ status }) => status === 'up'),
    },
    {
      name: 'dependency_warning',
      help: '1 while readiness shows a warning for it.',
      label: 'dependency',
      values: flags(({ warning }) => warning !== undefined),
    },
  ]);
  if (elasticsearch === null) return;
  const nodes = nodePool(elasticsearch);
  nodes.onChange = (node, isUp) => {
    if (isUp) log.info({ node }, 'an Elasticsearch node is up again');
    else log.warn({ node }, 'an Elasticsearch node is down: it gets no requests until it answers');
  };
  metrics.gaugesOf(
    async () => nodes.up(),
    [
      {
        name: 'elasticsearch_node_up',
        help: '1 while an Elasticsearch node gets requests, 0 while it does not answer.',
        label: 'node',
        values: (up) => up,
      },
    ],
  );
}
