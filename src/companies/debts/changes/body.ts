import type { Static } from '@sinclair/typebox';
import { invalidNif, listedNif } from '../../nif-parameter.ts';
import { API_KINDS, DEBT_KINDS } from '../kind.ts';
import { readCursor } from './cursor.ts';
import type { DebtChangesRequestSchema } from './schema.ts';
import type { PageOptions } from './store.ts';

/** The page that a request asks for, or the detail of its problem (contract: changes of debts). */
export function readChangesBody({
  after,
  nifs,
  kinds,
}: Static<typeof DebtChangesRequestSchema>): { page: PageOptions } | { invalid: string } {
  const companies = nifs?.map((nif) => listedNif(String(nif))) ?? null;
  const wrong = companies?.indexOf(null) ?? -1;
  if (wrong >= 0) {
    const { detail } = invalidNif().problem;
    return { invalid: `"nifs", number ${wrong + 1}, is not valid. ${detail}` };
  }
  return {
    page: {
      after: after === null ? null : readCursor(after),
      // A company that stands there twice has each change once.
      nifs: companies && [...new Set(companies as string[])],
      kinds: DEBT_KINDS.filter((kind) => kinds?.includes(API_KINDS[kind]) ?? true),
    },
  };
}
