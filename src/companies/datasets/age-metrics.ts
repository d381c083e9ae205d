import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { type Bound, withTimeout } from '../../platform/runtime/timeout.ts';
import { DAY, SECOND } from '../../platform/units.ts';
import { type DebtDataset, readDatasets } from './datasets-store.ts';

/** Pages of the table of records whose ages are looked at, some hundred records. */
const SAMPLED_PAGES = 100;

type Ages = Awaited<ReturnType<typeof readAges>>;

async function readAges(sql: Sql, bound: Bound) {
  const datasets = await readDatasets(sql, bound);
  const [sizes] = await bound(sql<{ generations: number; stored: number; pages: number }[]>`
    SELECT (SELECT count(*) FROM directory_generations) AS generations,
      greatest(reltuples, 0)::bigint AS stored, relpages AS pages
    FROM pg_class WHERE oid = 'companies'::regclass`);
  const share = Math.min(100, (100 * SAMPLED_PAGES) / Math.max(sizes!.pages, 1));
  const [sample] = await bound(sql<{ ageS: number | null }[]>`
    SELECT extract(epoch FROM avg(now() - fetched_at))::float8 AS "ageS"
    FROM companies TABLESAMPLE SYSTEM (${share}::float8)`);
  return { ...datasets, ...sizes!, ...sample! };
}

/**
 * Shows the age and size of the data that the service answers from.
 * @param expectedDays `EXPECT_IMPORTS_DAYS`; `null` means that no import is expected
 */
export function observeAges(metrics: Metrics, sql: Sql, expectedDays: number | null): void {
  const read = () => withTimeout((bound) => readAges(sql, bound), SECOND, 'Postgres');
  const each = (value: (dataset: DebtDataset) => number) => (ages: Ages) =>
    Object.fromEntries(
      Object.entries(ages.debts).map(([kind, dataset]) => [kind, dataset && value(dataset)]),
    );
  metrics.gaugesOf(read, [
    {
      name: 'directory_companies',
      help: 'Companies in the directory.',
      value: ({ directory }) => directory.companies,
    },
    {
      name: 'directory_updated_timestamp_seconds',
      help: 'When an import last confirmed or changed the directory; 0 if none has.',
      value: ({ directory }) => (directory.updated?.getTime() ?? 0) / SECOND,
    },
    {
      name: 'directory_generations',
      help: 'Generations of the directory that Postgres keeps: the current one, and the one for index rollback.',
      value: ({ generations }) => generations,
    },
    {
      name: 'debts_companies',
      help: 'Companies on a list of debtors.',
      label: 'kind',
      values: each(({ companies }) => companies),
    },
    {
      name: 'debts_date_timestamp_seconds',
      help: 'The date of a list of debtors, at 0:00 UTC.',
      label: 'kind',
      values: each(({ date }) => Date.parse(date) / SECOND),
    },
    {
      name: 'company_records',
      help: 'Stored company records, as Postgres estimates.',
      value: ({ stored }) => stored,
    },
    {
      name: 'company_records_age_seconds',
      help: 'Mean time since a stored record was refreshed, of a sample.',
      value: ({ ageS }) => ageS,
    },
  ]);
  if (expectedDays !== null)
    metrics.gaugeOf(
      'expect_imports_seconds',
      'EXPECT_IMPORTS_DAYS, in seconds.',
      () => (expectedDays * DAY) / SECOND,
    );
}
