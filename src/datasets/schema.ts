import { type Static, Type } from '@sinclair/typebox';

const Companies = Type.Integer({ minimum: 0, description: 'How many companies it has.' });

const DebtDatasetSchema = (publisher: string) =>
  Type.Union(
    [
      Type.Object(
        {
          date: Type.String({ format: 'date', description: "The dataset's own date." }),
          companies: Companies,
        },
        { additionalProperties: false },
      ),
      Type.Null(),
    ],
    { description: `Debt brackets published by ${publisher}; \`null\` means that none were ever imported.` },
  );

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
          { additionalProperties: false, description: 'The directory that searches find companies in.' },
        ),
        debts: Type.Object(
          {
            tax: DebtDatasetSchema('the tax authority'),
            social_security: DebtDatasetSchema('social security'),
          },
          { additionalProperties: false },
        ),
      },
      { additionalProperties: false },
    ),
    error: Type.Null(),
  },
  { $id: 'DatasetsAnswer', additionalProperties: false },
);

export type DatasetsAnswer = Static<typeof DatasetsAnswerSchema>;
