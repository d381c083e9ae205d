import { type Static, Type } from '@sinclair/typebox';
import { ok } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { freeHandler, type Handler } from '../../metering/admission/quote.ts';
import { FileDigestOrNull, Sha256 } from '../file-digest.ts';
import type { Datasets, DebtDataset, ReadDatasets } from './datasets-store.ts';

const Companies = Type.Integer({ minimum: 0, description: 'How many companies it has.' });

const Rows = Type.Union([Sha256(''), Type.Null()], {
  description:
    'SHA-256 of the rows as CSV in the order of NIFs, the same after an export and its import; `null` means that it is not known.',
});

const DebtDatasetSchema = Type.Object(
  {
    date: Type.String({ format: 'date', description: "The dataset's own date." }),
    companies: Companies,
    file: FileDigestOrNull('The file that it is from; `null` means that it is not known.'),
    rows: Rows,
  },
  { $id: 'DebtDataset' },
);

const DebtDatasetOrNull = (publisher: string) =>
  Type.Union([DebtDatasetSchema, Type.Null()], {
    description: `Debt brackets published by ${publisher}; \`null\` means that none were ever imported.`,
  });

const DatasetsAnswerSchema = Type.Object(
  {
    data: Type.Object(
      {
        directory: Type.Object(
          {
            companies: Companies,
            updated: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
              description: 'When the directory was last imported, UTC; `null` means never.',
            }),
            last_file: FileDigestOrNull(
              'The file of that import, which others have loaded before; `null` means that it is not known.',
            ),
            rows: Rows,
          },
          { $id: 'DirectoryDataset', description: 'The directory that searches find companies in.' },
        ),
        debts: Type.Object(
          {
            tax: DebtDatasetOrNull('the tax authority'),
            social_security: DebtDatasetOrNull('social security'),
          },
          { $id: 'DebtDatasets' },
        ),
      },
      { $id: 'Datasets' },
    ),
    error: Type.Null(),
  },
  { $id: 'DatasetsAnswer' },
);

type DatasetsAnswer = Static<typeof DatasetsAnswerSchema>;

/** GET /datasets (docs/api.md: datasets) */
export const datasetsRoute: ApiRoute = {
  right: 'datasets',
  path: '/datasets',
  success: DatasetsAnswerSchema,
  problems: [],
  charge: null,
  detail: {
    operationId: 'getDatasets',
    summary: 'Get datasets',
    pt: { summary: 'Consultar os dados disponíveis', cost: 'nenhum crédito' },
    description:
      'Reports how many companies each dataset has and how old it is, so that a company without debts can be told from debts that were never imported. Costs a rate-limit token and no credit, and works when the credits are used up.',
  },
};

export const createDatasetsHandler = ({ readDatasets }: { readDatasets: ReadDatasets }): Handler =>
  freeHandler('The datasets could not be read.', async () => ok(presentDatasets(await readDatasets())));

function presentDatasets({ directory, debts }: Datasets): DatasetsAnswer {
  const present = (dataset: DebtDataset | null) =>
    dataset && {
      date: dataset.date,
      companies: dataset.companies,
      file: dataset.file,
      rows: dataset.rows,
    };
  const { companies, updated, lastFile, rows } = directory;
  return {
    data: {
      directory: { companies, updated: updated?.toISOString() ?? null, last_file: lastFile, rows },
      debts: { tax: present(debts.tax), social_security: present(debts['social-security']) },
    },
    error: null,
  };
}
