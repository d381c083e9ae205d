/** deploy/grafana/company-directory.json, the dashboard of an operator. A test holds its queries against the metrics of a running service. */

interface Panel {
  title: string;
  /** Of Grafana: `reqps`, `s`, `short`. */
  unit: string;
  queries: [expr: string, legend: string][];
  description?: string;
  /** Draws areas on top of each other, whose height is the sum. */
  isStacked?: boolean;
}

const rate = (selector: string, by: string) => `sum by (${by}) (rate(${selector}[$__rate_interval]))`;
const quantile = (share: number, selector: string) =>
  `histogram_quantile(${share}, sum by (le) (rate(${selector}[$__rate_interval])))`;

/** The panels of each row. */
export const ROWS: Record<string, Panel[]> = {
  Traffic: [
    {
      title: 'Answers by status',
      unit: 'reqps',
      isStacked: true,
      queries: [[rate('http_requests_total', 'status'), '{{status}}']],
    },
    {
      title: 'Answers by route',
      unit: 'reqps',
      queries: [[`topk(10, ${rate('http_requests_total', 'route')})`, '{{route}}']],
    },
    {
      title: 'Share of 5xx',
      unit: 'percentunit',
      description: 'The rule ServerErrors fires at 1%.',
      queries: [
        [
          'sum(rate(http_requests_total{route!~"/health/.*|/metrics",status=~"5.."}[$__rate_interval])) / sum(rate(http_requests_total{route!~"/health/.*|/metrics"}[$__rate_interval]))',
          '5xx',
        ],
      ],
    },
    {
      title: 'Items of lists by status',
      unit: 'reqps',
      description: 'Also of tools. The request itself is a 200.',
      queries: [[rate('list_items_total', 'status'), '{{status}}']],
    },
    {
      title: 'Calls of agents and of test keys',
      unit: 'reqps',
      queries: [
        [rate('mcp_tool_calls_total', 'tool'), '{{tool}}'],
        ['sum(rate(http_test_requests_total[$__rate_interval]))', 'test keys'],
      ],
    },
  ],
  Latency: [
    {
      title: 'Time of an answer',
      unit: 's',
      queries: [0.5, 0.95, 0.99].map((share) => [
        quantile(share, 'http_request_duration_seconds_bucket'),
        `p${share * 100}`,
      ]),
    },
    {
      title: 'p99 by route',
      unit: 's',
      queries: [
        [
          'histogram_quantile(0.99, sum by (le, route) (rate(http_request_duration_seconds_bucket{route=~"/api/.*"}[$__rate_interval])))',
          '{{route}}',
        ],
      ],
    },
    { title: 'Requests in flight', unit: 'short', queries: [['http_requests_running', '{{instance}}']] },
  ],
  'Credits and limits': [
    {
      title: 'Batches of credits that were voided',
      unit: 'short',
      description: 'Postgres did not answer them in time, so their calls were 503 and cost nothing.',
      queries: [['sum(increase(credit_batches_voided_total[$__rate_interval]))', 'voided']],
    },
    {
      title: 'Rate limits without Redis',
      unit: 'reqps',
      queries: [
        ['sum(rate(rate_limit_local_decisions_total[$__rate_interval]))', 'decisions of a process alone'],
        ['sum(rate_limit_local)', 'processes without Redis'],
      ],
    },
    {
      title: 'Refreshes of the day',
      unit: 'short',
      queries: [
        ['max(refreshes_today)', 'today'],
        ['max(refreshes_per_day)', 'REFRESHES_PER_DAY'],
        ['sum by (bound) (increase(refreshes_refused_total[$__rate_interval]))', 'refused: {{bound}}'],
      ],
    },
  ],
  'Queues and batches': [
    { title: 'Items of a batch', unit: 'short', queries: [[perBatch('batch_items_total'), '{{stage}}']] },
    { title: 'Time of a batch', unit: 's', queries: [[perBatch('batch_run_seconds_total'), '{{stage}}']] },
    {
      title: 'Searches from the cache',
      unit: 'reqps',
      queries: [[rate('search_cache_answers_total', 'outcome'), '{{outcome}}']],
    },
  ],
  Stores: [
    { title: 'Up', unit: 'short', queries: [['min by (dependency) (dependency_up)', '{{dependency}}']] },
    {
      title: 'Warnings of readiness',
      unit: 'short',
      queries: [['max by (dependency) (dependency_warning)', '{{dependency}}']],
    },
    {
      title: 'Nodes of Elasticsearch',
      unit: 'short',
      queries: [['min by (node) (elasticsearch_node_up)', '{{node}}']],
    },
  ],
  Sources: [
    {
      title: 'Questions by outcome',
      unit: 'reqps',
      queries: [[rate('source_requests_total', 'source, outcome'), '{{source}} {{outcome}}']],
    },
    {
      title: 'Limits reached',
      unit: 'short',
      queries: [
        [
          'sum by (source, window) (increase(source_limits_total[$__rate_interval]))',
          '{{source}} {{window}}',
        ],
      ],
    },
  ],
  'Data and its age': [
    {
      title: 'Companies',
      unit: 'short',
      queries: [
        ['max(directory_companies)', 'directory'],
        ['max by (kind) (debts_companies)', 'debts: {{kind}}'],
        ['max(company_records)', 'stored records'],
      ],
    },
    {
      title: 'Age',
      unit: 's',
      description: 'The rules DirectoryIsOld and DebtListIsOld watch it.',
      queries: [
        ['time() - (max(directory_updated_timestamp_seconds) > 0)', 'directory'],
        ['max by (kind) (time() - debts_date_timestamp_seconds)', 'debts: {{kind}}'],
        ['max(company_records_age_seconds)', 'stored records, mean'],
      ],
    },
    {
      title: 'Since imports and backups succeeded',
      unit: 's',
      queries: [
        ['min by (command) (time() - command_succeeded_timestamp_seconds)', '{{command}}'],
        ['max by (command) (command_failed)', 'failed: {{command}}'],
      ],
    },
    {
      title: 'Time of the last run',
      unit: 's',
      queries: [
        ['max by (command) (command_duration_seconds)', '{{command}}'],
        ['max(directory_generations)', 'generations of the directory'],
      ],
    },
  ],
  Processes: [
    {
      title: 'CPU',
      unit: 'percentunit',
      queries: [[rate('process_cpu_seconds_total', 'instance'), '{{instance}}']],
    },
    {
      title: 'Memory',
      unit: 'bytes',
      queries: [
        ['process_resident_memory_bytes', '{{instance}}'],
        ['search_cache_bytes', '{{instance}} search cache'],
      ],
    },
    {
      title: 'Version',
      unit: 'short',
      queries: [['sum by (version, bun) (build_info)', '{{version}}, Bun {{bun}}']],
    },
  ],
};

/** A counter of batches, for each batch. */
function perBatch(counter: string): string {
  return `${rate(counter, 'stage')} / ${rate('batch_runs_total', 'stage')}`;
}

const [COLUMNS, HEIGHT] = [24, 8];

/** Grafana's model of the dashboard. */
function dashboard(): Record<string, unknown> {
  const datasource = { type: 'prometheus', uid: '$datasource' };
  const panels: Record<string, unknown>[] = [];
  let y = 0;
  for (const [row, inRow] of Object.entries(ROWS)) {
    panels.push({ id: panels.length + 1, type: 'row', title: row, gridPos: { x: 0, y, w: COLUMNS, h: 1 } });
    const w = COLUMNS / inRow.length;
    for (const [index, { title, unit, queries, description, isStacked }] of inRow.entries()) {
      panels.push({
        id: panels.length + 1,
        type: 'timeseries',
        title,
        ...(description === undefined ? {} : { description }),
        datasource,
        gridPos: { x: index * w, y: y + 1, w, h: HEIGHT },
        fieldConfig: {
          defaults: {
            unit,
            min: 0,
            custom: isStacked ? { stacking: { mode: 'normal' }, fillOpacity: 30 } : { fillOpacity: 0 },
          },
          overrides: [],
        },
        targets: queries.map(([expr, legendFormat], at) => ({
          refId: String.fromCharCode(65 + at),
          datasource,
          expr,
          legendFormat,
        })),
      });
    }
    y += 1 + HEIGHT;
  }
  return {
    title: 'Company directory',
    uid: 'company-directory',
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
    panels,
  };
}

export const dashboardText = () => `${JSON.stringify(dashboard(), null, 2)}\n`;
