import type { Static } from '@sinclair/typebox';
import { failureAnswer, problem, unavailable } from '../../../http/answer.ts';
import type { ApiRoute } from '../../../http/api-route.ts';
import { free, type Handler, single } from '../../../metering/admission/quote.ts';
import { invalidNif, listedNif } from '../../nif-parameter.ts';
import { API_KINDS, DEBT_KINDS } from '../kind.ts';
import { CHANGES } from './changes-feed.ts';
import { type DebtChange, DebtChangesAnswerSchema, DebtChangesRequestSchema } from './changes-schema.ts';
import type { Change, ReadPage } from './changes-store.ts';

/** POST /debts/changes (docs/api.md: follow changes of debts) */
export const debtChangesRoute: ApiRoute = {
  right: 'changes',
  method: 'POST',
  path: '/debts/changes',
  body: DebtChangesRequestSchema,
  success: DebtChangesAnswerSchema,
  invalid: 'Or a NIF of `nifs` is wrong, or `after` is a cursor of the future.',
  problems: ['validation', 'changes-expired'],
  charge: 'debts',
  cost: 'one credit for each change, and at least one',
  detail: {
    operationId: 'getDebtChanges',
    summary: 'Follow changes of debts',
    pt: {
      summary: 'Seguir as alterações de dívidas',
      cost: 'um crédito por cada alteração, e pelo menos um',
    },
    description:
      'What has changed in the lists of debts since an earlier answer, oldest first, at most 100 changes. Go on with `next`: it misses no change and repeats none, whatever is imported meanwhile. An answer without changes has a `next`, too. Changes are written when a dataset is imported, except the first of its kind and those of natural persons, and are kept for 90 days. Nothing is stored about who asks for which companies. If the credits suffice for some changes only, the answer has these, and `more` is true. A body that is not valid is a `validation` that costs one credit.',
  },
};

/** Answers with the changes after a cursor. */
export function createDebtChangesHandler(parts: {
  readPage: ReadPage;
}): Handler<Static<typeof DebtChangesRequestSchema>> {
  return {
    async quote(body) {
      const companies = body.nifs?.map((nif) => listedNif(String(nif))) ?? null;
      const wrong = companies?.indexOf(null) ?? -1;
      if (wrong >= 0) {
        const detail = `"nifs", number ${wrong + 1}, is not valid. ${invalidNif().problem.detail}`;
        return single('debts', () => problem('validation', detail, { reason: 'nif' }));
      }
      const after = body.after === null ? null : CHANGES.read(body.after);
      // A company that stands there twice has each change once.
      const nifs = companies && [...new Set(companies as string[])];
      const kinds = DEBT_KINDS.filter((kind) => body.kinds?.includes(API_KINDS[kind]) ?? true);
      let page: Awaited<ReturnType<ReadPage>>;
      try {
        page = await parts.readPage({ after, nifs, kinds });
      } catch (cause) {
        const failure = failureAnswer(cause, unavailable('The changes could not be read.', cause));
        return free(() => failure);
      }
      const refusal = CHANGES.refusal(page, after);
      if (refusal !== null)
        return refusal.problem.kind === 'validation' ? single('debts', () => refusal) : free(() => refusal);
      const credits = Math.max(page.rows.length, 1);
      return {
        kind: 'debts',
        credits,
        asked: body.nifs?.map(String) ?? [],
        answer: ({ spent }) => CHANGES.answer(page, after, present, spent),
      };
    },
  };
}

function present({ number, at, kind, nif, before, after, date }: Change): DebtChange {
  const change = before === null ? 'appeared' : after === null ? 'ended' : 'changed';
  return {
    id: CHANGES.write(number),
    at: at.toISOString(),
    kind: API_KINDS[kind],
    nif,
    change,
    before,
    after,
    date,
  };
}
