import { type Static, Type } from '@sinclair/typebox';

const Companies = Type.Integer({ minimum: 0, description: 'How many companies it has.' });

const DebtDatasetSchema = Type.Object(
  {
    date: Type.String({ format: 'date', description: "The dataset's own date." }),
    companies: Companies,
  },
  { $id: 'DebtDataset' },
);

const DebtDatasetOrNull = (publisher: string) =>
  Type.Union([DebtDatasetSchema, Type.Null()], {
    description: `Debt brackets published by ${publisher}; \`null\` means that none were ever imported.`,
  });

export const DatasetsAnswerSchema = Type.Object(
  {
    data: Type.Object(
      {
        directory: Type.Object(
          {
            companies: Companies,
            updated: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
              description: 'When the directory was last imported, UTC; `null` means never.',
            }),
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

export type DatasetsAnswer = Static<typeof DatasetsAnswerSchema>;
