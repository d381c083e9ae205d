/**
 * Every series of a counter, and every one that a rule of deploy/prometheus reads, is there before its first event: Prometheus
 * sees no increase in a series that begins at 1.
 */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { RefreshBound } from '../../src/companies/lookup/refresh-bounds.ts';
import type { LimitWindow } from '../../src/companies/sources/nif-pt.ts';
import { SOURCE_OUTCOMES } from '../../src/companies/sources/source-types.ts';
import { BASE_PATH, statusesOf, templateOf } from '../../src/http/api-route.ts';
import { TOOLS } from '../../src/mcp/tools.ts';
import { recordRun } from '../../src/platform/terminal/runs.ts';
import { VERSION } from '../../src/platform/version.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { ROWS } from '../../tools/grafana.ts';
import { ROOT } from '../support/command.ts';
import { nif } from '../support/companies.ts';
import '../support/modes.ts';
import { storeRecord } from '../support/records.ts';
import { startTestService } from '../support/service.ts';

const textOf = (path: string) => Bun.file(join(ROOT, path)).text();

interface Rule {
  alert: string;
  expr: string;
  annotations: {
    /** The line that the service logs then. */
    log?: string;
    cause?: string;
    action?: string;
  };
}

const { groups } = Bun.YAML.parse(await textOf('deploy/prometheus/rules.yml')) as {
  groups: { rules: Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

/** The first scrape is of a service that has answered nothing. */
const service = await startTestService({
  mode: 'full',
  env: { REGISTRY: 'vies', NIF_PT_KEY: 'a-key', REFRESHES_PER_DAY: '100', EXPECT_IMPORTS_DAYS: '2' },
});
afterAll(() => service.stop());
const scrapeNow = async () => (await fetch(`${service.baseUrl}/metrics`)).text();
const first = await scrapeNow();

type Labels = Record<string, string>;

/** `name{label="value"}` of a rule or of a scrape; the operator of a label is `=` or `=~`; with `!~` there is some series. */
function selectorsIn(text: string): { name: string; labels: [label: string, pattern: RegExp][] }[] {
  return [...text.matchAll(/\b([a-z]+(?:_[a-z]+)+)(?:\{([^}]*)\})?(?=\[| [=<>]| \/|\))/g)].map(
    ([, name, labels = '']) => ({
      name: name!,
      labels: [...labels.matchAll(/(\w+)(=~?)"([^"]*)"/g)].map(([, label, operator, value]) => [
        label!,
        new RegExp(operator === '=' ? `^${RegExp.escape(value!)}$` : `^(?:${value})$`),
      ]),
    }),
  );
}

function seriesOf(scrape: string): { name: string; labels: Labels }[] {
  return [...scrape.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)].map(([, name, labels = '']) => ({
    name: name!,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label!, value!]),
    ),
  }));
}

test('a service that has answered nothing has every series of the rules for alerts, and its version', async () => {
  const wanted = rules.flatMap(({ expr }) => selectorsIn(expr));
  expect(wanted.length).toBeGreaterThan(10);

  const series = seriesOf(first);
  const missing = wanted.filter(
    ({ name, labels }) =>
      !series.some(
        (one) =>
          one.name === name && labels.every(([label, pattern]) => pattern.test(one.labels[label] ?? '')),
      ),
  );
  // These are about lists of debtors and runs of commands, which this service does not have.
  expect(missing.map(({ name }) => name)).toEqual([
    'debts_date_timestamp_seconds',
    'command_failed',
    'command_succeeded_timestamp_seconds',
  ]);
  expect(first).toContain(`\nbuild_info{version="${VERSION}",bun="${Bun.version}"} 1\n`);
  expect(service.logLines).toContainEqual(expect.objectContaining({ msg: 'listening', version: VERSION }));
});

test('each rule says its cause and what to do, and has a test in which it fires', async () => {
  const tests = await textOf('deploy/prometheus/rules.test.yml');
  for (const { alert, annotations } of rules) {
    expect(annotations).toMatchObject({
      cause: expect.stringMatching(/\S{2,} \S/),
      action: expect.stringMatching(/\S{2,} \S/),
    });
    expect(tests).toContain(`{alertname="${alert}"}`);
  }
});

test('each line of the log that a rule names is in the code', async () => {
  const code = await Promise.all(
    [...new Bun.Glob('src/**/*.ts').scanSync(ROOT)].map((path) => Bun.file(join(ROOT, path)).text()),
  );
  for (const { annotations } of rules)
    if (annotations.log !== undefined) expect(code.join('')).toContain(annotations.log);
});

test('the dashboard of Grafana asks only for what a running service exports', async () => {
  await service.sql`
    INSERT INTO debt_datasets (kind, dataset_date, rows, imported_by) VALUES ('tax', '2026-10-31', 1, 'test')`;
  await recordRun(service.sql, 'backup', async () => {});
  await storeRecord(service.sql, nif(1), 'Ábaco, Lda', new Date());
  const names = new Set(seriesOf(await scrapeNow()).map(({ name }) => name));
  const queries = Object.values(ROWS).flatMap((panels) => panels.flatMap(({ queries }) => queries));
  const asked = queries.flatMap(([expr]) => selectorsIn(expr).map(({ name }) => name));
  expect(new Set(asked).size).toBeGreaterThan(20);
  expect(asked.filter((name) => !names.has(name))).toEqual([]);
});

/** The series of each counter that has labels: all of them, or `some` and the reason why the code has no list of all. */
const SERIES: Record<string, Labels[] | { some: Labels[]; because: string }> = {
  http_requests_total: {
    some: API_ROUTES.flatMap((route) =>
      [200, ...statusesOf(route)].map((status) => ({
        route: BASE_PATH + templateOf(route.path),
        status: String(status),
      })),
    ),
    because: 'routes of pages and of the protocol for agents declare no statuses',
  },
  mcp_tool_calls_total: [...TOOLS.values()].map(({ name: tool }) => ({ tool })),
  source_requests_total: ['nif.pt', 'vies'].flatMap((source) =>
    SOURCE_OUTCOMES.map((outcome) => ({ source, outcome })),
  ),
  source_limits_total: keysOf<LimitWindow>({ minute: 1, hour: 1, day: 1, month: 1 }).map((window) => ({
    source: 'nif.pt',
    window,
  })),
  refreshes_refused_total: keysOf<RefreshBound>({
    'account-day': 1,
    'account-minute': 1,
    'all-day': 1,
    'free-day': 1,
  }).map((bound) => ({ bound })),
  list_items_total: {
    some: ['lookups', 'debts'].flatMap((path) =>
      ['200', '503'].map((status) => ({ route: `${BASE_PATH}/${path}`, status })),
    ),
    because: 'each kind of list has further problems, by its schema',
  },
  search_cache_answers_total: ['hit', 'miss'].map((outcome) => ({ outcome })),
  ...Object.fromEntries(
    ['batch_runs_total', 'batch_items_total', 'batch_run_seconds_total'].map((name) => [
      name,
      {
        some: ['key', 'credit', 'record', 'records', 'debts', 'usage', 'bucket', 'match', 'resolve'].map(
          (stage) => ({ stage }),
        ),
        because:
          'the stages are those of the configured stores; each has its series when its batcher is made',
      },
    ]),
  ),
};

/** The values of a union, of which the compiler says that none is missing. */
function keysOf<Value extends string>(values: Record<Value, 1>): Value[] {
  return Object.keys(values) as Value[];
}

test('every counter is named a total, and has each of its series before its first event, at 0', async () => {
  const series = seriesOf(first);
  const types = [...first.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(
    ([, name, type]) => [name!, type!] as const,
  );
  for (const [name, type] of types)
    expect([name, type === 'counter']).toEqual([name, name.endsWith('_total')]);
  const counters = types.filter(([, type]) => type === 'counter').map(([name]) => name);
  expect(counters).toEqual(expect.arrayContaining(Object.keys(SERIES)));
  for (const counter of counters) {
    const labels = series.filter(({ name }) => name === counter).map(({ labels }) => labels);
    const expected = SERIES[counter] ?? [{}];
    if (Array.isArray(expected)) {
      expect([counter, labels.map((one) => JSON.stringify(one)).toSorted()]).toEqual([
        counter,
        expected.map((one) => JSON.stringify(one)).toSorted(),
      ]);
    } else expect([counter, labels]).toEqual([counter, expect.arrayContaining(expected.some)]);
  }
  for (const name of ['mcp_tool_calls_total', 'source_requests_total'])
    expect(first).not.toMatch(new RegExp(`^${name}\\{.*\\} [1-9]`, 'm'));
});
