import type { Handler } from '../admission/pipeline.ts';
import { isBug } from '../errors.ts';
import { ok, unavailable } from '../http/answer.ts';
import type { ApiRoute } from '../http/api-route.ts';
import type { Sql } from '../postgres/connect.ts';
import { createBatcher } from '../runtime/batcher.ts';
import { type DatasetsAnswer, DatasetsAnswerSchema } from './schema.ts';
import { type DebtDataset, readDatasets } from './store.ts';

/** GET /datasets (contract, Beyond the specification) */
export const datasetsRoute: ApiRoute = {
  path: '/datasets',
  success: DatasetsAnswerSchema,
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
  const read = createBatcher(
    async (requests: null[], bound) => {
      const datasets = await readDatasets(sql, bound);
      return requests.map(() => datasets);
    },
    { name: 'Postgres', maxConcurrentBatches: 2 },
  );

  return {
    charge: datasetsRoute.charge,
    async handle() {
      try {
        const { directory, debts } = await read(null);
        return ok<DatasetsAnswer>({
          data: {
            directory: {
              companies: directory.companies,
              updated: directory.updated?.toISOString() ?? null,
            },
            debts: { tax: present(debts.tax), social_security: present(debts.socialSecurity) },
          },
          error: null,
        });
      } catch (cause) {
        if (isBug(cause)) throw cause;
        return unavailable('The datasets could not be read.', cause);
      }
    },
  };
}

function present(dataset: DebtDataset | null): { date: string; companies: number } | null {
  return dataset === null ? null : { date: dataset.date, companies: dataset.companies };
}
