import { type Answer, failureAnswer, ok, unavailable } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { free, type Handler } from '../../metering/admission/plan.ts';
import { READS } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { type DatasetsAnswer, DatasetsAnswerSchema } from './schema.ts';
import { type Datasets, type DebtDataset, readDatasets } from './store.ts';

/** GET /datasets (contract, Beyond the specification) */
export const datasetsRoute: ApiRoute = {
  path: '/datasets',
  success: DatasetsAnswerSchema,
  exampleAnswer: (): DatasetsAnswer => ({
    data: {
      directory: { companies: 620, updated: '2026-11-21T10:57:02.311Z' },
      debts: {
        tax: { date: '2026-10-31', companies: 10 },
        social_security: { date: '2026-11-02', companies: 2 },
      },
    },
    error: null,
  }),
  problems: [],
  charge: null,
  detail: {
    operationId: 'getDatasets',
    summary: 'Get datasets',
    description:
      'Reports how many companies each dataset has and how old it is, so that a company without debts can be told from debts that were never imported. Costs a rate-limit token and no credit, and works when the credits are used up.',
  },
};

/** Requests of one turn of the event loop share a query, and none waits longer for Postgres than other requests do. */
export function createDatasetsHandler(sql: Sql): Handler {
  const read = createBatcher(async (requests: null[], bound) => {
    const datasets = await readDatasets(sql, bound);
    return requests.map(() => datasets);
  }, READS);

  return {
    charge: datasetsRoute.charge,
    plan: () => free(answer),
  };

  async function answer(): Promise<Answer> {
    try {
      return ok(presentDatasets(await read(null)));
    } catch (cause) {
      return failureAnswer(cause, unavailable('The datasets could not be read.', cause));
    }
  }
}

function presentDatasets({ directory, debts }: Datasets): DatasetsAnswer {
  const present = (dataset: DebtDataset | null) =>
    dataset && { date: dataset.date, companies: dataset.companies };
  const { companies, updated } = directory;
  return {
    data: {
      directory: { companies, updated: updated?.toISOString() ?? null },
      debts: { tax: present(debts.tax), social_security: present(debts.socialSecurity) },
    },
    error: null,
  };
}
