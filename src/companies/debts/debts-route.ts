import { Type } from '@sinclair/typebox';
import type { ApiRoute } from '../../http/api-route.ts';
import { type ItemList, itemSchema, listRequestSchema } from '../../http/list-schema.ts';
import {
  createListHandler,
  type ItemAnswer,
  type ListInput,
  type ListService,
} from '../../metering/admission/list-handler.ts';
import type { Handler } from '../../metering/admission/quote.ts';
import { QUEUE_TIMEOUT_MS } from '../../platform/runtime/batcher.ts';
import { createGate, type Gate, type GateLimits } from '../../platform/runtime/gate.ts';
import { FileDigestOrNull } from '../file-digest.ts';
import { invalidNif, listedNif, NIF_LIST } from '../nif-parameter.ts';
import { type Debts, DebtsSchema, writeDebts } from './bracket.ts';
import type { Screen } from './debts-store.ts';

const NIFS: ItemList = { list: 'nifs', item: 'nif', max: 1000 };

const ScreenedItemSchema = itemSchema(
  NIFS,
  { debts: Type.Object(DebtsSchema, { $id: 'CompanyDebts' }) },
  {
    $id: 'ScreenedItem',
    problems: [],
    free: [],
  },
);

const DatasetFile = (publisher: string) =>
  FileDigestOrNull(
    `The file of the dataset of ${publisher}; \`null\` means that it is not known, or that none was ever imported.`,
  );

const DatasetDate = (publisher: string) =>
  Type.Union([Type.String({ format: 'date' }), Type.Null()], {
    description: `The date of the dataset of ${publisher}; \`null\` means that none was ever imported, so its brackets say nothing.`,
  });

/** POST /debts (docs/api.md: screen a list for debts) */
export const debtsRoute: ApiRoute = {
  right: 'debts',
  method: 'POST',
  path: '/debts',
  body: listRequestSchema(NIFS, {
    $id: 'DebtsRequest',
    ...NIF_LIST,
  }),
  success: Type.Object(
    {
      data: Type.Array(ScreenedItemSchema, { description: 'One element a NIF, in the order asked.' }),
      datasets: Type.Object(
        { tax: DatasetDate('the tax authority'), social_security: DatasetDate('social security') },
        { $id: 'DatasetDates' },
      ),
      files: Type.Object(
        { tax: DatasetFile('the tax authority'), social_security: DatasetFile('social security') },
        {
          $id: 'DatasetFiles',
          description: 'Which files the brackets are from, so that an answer can be shown to be right later.',
        },
      ),
    },
    { $id: 'DebtsAnswer' },
  ),
  problems: ['validation'],
  charge: 'debts',
  cost: 'one credit for each NIF that gets an answer',
  detail: {
    operationId: 'getDebts',
    summary: 'Screen a list of companies for debts',
    pt: {
      summary: 'Verificar as dívidas de uma lista de empresas',
      cost: 'um crédito por cada NIF com resposta',
    },
    description:
      'The debt brackets of up to 1,000 companies in the lists of the tax authority and of social security, for one rate-limit token. It asks no source and takes no refresh, so a company that no source knows has its brackets, too. `null` means that the company is not on the list of that date. It does not mean that the company has no debt: the lists have debts above a threshold only, and `datasets` says which list was never imported. A NIF that stands there twice is answered and charged twice. If the credits suffice for some NIFs only, the first ones get them and the others are `monthly-quota-exceeded`. A body that is not valid is a `validation` that costs one credit.',
  },
};

/**
 * A list takes the process 2 ms, in parts between its waits. With one list at a time no turn of the event loop has parts of
 * several, so that lookups beside lists wait for one part only (docs/performance.md).
 */
export const ONE_LIST: GateLimits = {
  places: 1,
  placesOfOne: 1,
  maxWaiting: 200,
  maxWaitMs: QUEUE_TIMEOUT_MS,
};

/** Answers with the debt brackets of a list of companies. Nothing of the list is stored. */
export function createDebtsHandler({
  screen,
  gate = createGate(ONE_LIST),
  ...parts
}: ListService & { screen: Screen; gate?: Gate }): Handler<ListInput> {
  return createListHandler({
    ...parts,
    ...NIFS,
    route: debtsRoute,
    gate,
    async quote(asked) {
      const nifs = asked.map(listedNif);
      const { debts, datasets } = await screen(nifs.filter((nif) => nif !== null));
      const items = nifs.map((nif) => {
        const answer = () => (nif === null ? invalidNif() : present(debts.get(nif)));
        return { isCharged: true, answer };
      });
      const byList = (member: 'date' | 'file') =>
        JSON.stringify({
          tax: datasets.tax?.[member] ?? null,
          social_security: datasets['social-security']?.[member] ?? null,
        });
      return { items, more: `"datasets":${byList('date')},"files":${byList('file')}` };
    },
  });
}

function present(debts: Debts = {}): ItemAnswer {
  return { ok: true, json: `"debts":{${writeDebts(debts)}}` };
}
