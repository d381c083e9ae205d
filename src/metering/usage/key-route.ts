import { type Static, Type } from '@sinclair/typebox';
import { ok } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { enumeration } from '../../http/enumeration.ts';
import { RIGHTS } from '../../http/right.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { iso } from '../accounts/plan.ts';
import { createRowReader } from '../accounts/reader.ts';
import { freeHandler, type Handler } from '../admission/quote.ts';
import { type ApiKey, keyColumns } from '../keys/key-store.ts';
import { BUDGET_PERIODS } from '../keys/limits.ts';

const Instant = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description });

const KeyAnswerSchema = Type.Object(
  {
    data: Type.Object(
      {
        name: Type.String({ description: 'The name that the account gave it.' }),
        start: Type.String({ description: 'The first characters of its secret.' }),
        expires: Instant('The key is refused from then on, UTC; `null` means never.'),
        only: Type.Union([Type.Array(enumeration([...RIGHTS], '')), Type.Null()], {
          description: 'Its permissions; `null` means all.',
        }),
        budget: Type.Union(
          [
            Type.Object(
              {
                credits: Type.Integer({ minimum: 0, description: 'Credits that it can spend in a window.' }),
                per: enumeration([...BUDGET_PERIODS], 'The window, of UTC; `ever` has no end.'),
                used: Type.Integer({ minimum: 0, description: 'Credits that it has spent in the window.' }),
                resets: Instant('The end of the window; `null` means that there is none.'),
              },
              { $id: 'KeyBudget' },
            ),
            Type.Null(),
          ],
          { description: 'Its credit limit; `null` means that only the credits of the account bound it.' },
        ),
        requests_per_minute: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
          description: "Its share of the account's requests a minute; `null` means that it has none.",
        }),
        test: Type.Boolean({ description: 'Whether it is a test key.' }),
      },
      { $id: 'Key' },
    ),
    error: Type.Null(),
  },
  { $id: 'KeyAnswer' },
);

type KeyAnswer = Static<typeof KeyAnswerSchema>;

/** GET /key (docs/members.md: limits of a key): what the holder of a key may know without seeing its account. */
export const keyRoute: ApiRoute = {
  right: null,
  path: '/key',
  success: KeyAnswerSchema,
  exampleAnswer: {
    data: {
      name: 'warehouse',
      start: 'svc_k3v9',
      expires: null,
      only: ['lookup'],
      budget: { credits: 50, per: 'day', used: 12, resets: '2026-11-27T00:00:00.000Z' },
      requests_per_minute: 10,
      test: false,
    },
    error: null,
  } satisfies KeyAnswer,
  problems: [],
  charge: null,
  detail: {
    operationId: 'getKey',
    summary: 'Get the key',
    pt: { summary: 'Consultar a chave', cost: 'nenhum crédito' },
    description:
      'Reports the key of this request: its permissions, its credit limit and what is spent of it, and its share of the requests a minute. Every key may ask. Costs a rate-limit token and no credit, and works when the credits are used up. All keys of an account share its requests a minute.',
  },
};

/** Reads a key as it stands now by Postgres's clock. @throws when Postgres is away */
export type ReadKey = (id: string) => Promise<ApiKey>;

export const createKeyReader = (sql: Sql): ReadKey =>
  createRowReader(
    'key',
    (ids) => sql<ApiKey[]>`SELECT ${keyColumns(sql)} FROM api_keys WHERE id = ANY (${ids}::text[])`,
  );

export function createKeyHandler({ readKey }: { readKey: ReadKey }): Handler {
  return freeHandler('The key could not be read.', async ({ caller }) => {
    const { name, start, expires, only, budget, requests_per_minute, test } = await readKey(caller.keyId);
    const data = { name, start, expires: iso(expires), only, budget, requests_per_minute, test };
    return ok<KeyAnswer>({ data, error: null });
  });
}
