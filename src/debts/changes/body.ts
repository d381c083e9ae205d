import { isTexts } from '../../admission/items.ts';
import { validNif } from '../../http/nif.ts';
import { isObject } from '../../runtime/json.ts';
import { API_KINDS, DEBT_KINDS } from '../kind.ts';
import { readCursor } from './cursor.ts';
import { MAX_NIFS } from './schema.ts';
import type { PageOptions } from './store.ts';

const FORM = `The body is not {"after": "chg_…" or null, "nifs": ["…", …], "kinds": ["tax", "social_security"]} as application/json. "nifs" has at most ${MAX_NIFS}, and may be absent, as "kinds" may.`;

/** The page that a request asks for, or the detail of its problem (contract: changes of debts). */
export function readChangesBody(json: unknown): { input: PageOptions } | { invalid: string } {
  if (!isObject(json)) return { invalid: FORM };
  const { after, nifs, kinds } = json;
  const isAsked = after === null || typeof after === 'string';
  if (!isAsked || (nifs !== undefined && !isTexts(nifs, MAX_NIFS))) return { invalid: FORM };
  if (kinds !== undefined && !(isTexts(kinds, DEBT_KINDS.length) && kinds.length > 0))
    return { invalid: FORM };

  const wanted = DEBT_KINDS.filter((kind) => kinds?.includes(API_KINDS[kind]) ?? true);
  if (kinds !== undefined && wanted.length < new Set(kinds).size) return { invalid: FORM };
  const number = after === null ? null : readCursor(after);
  if (after !== null && number === null) return { invalid: '"after" is not the `next` of an answer.' };
  const companies = nifs?.map(validNif) ?? null;
  const wrong = companies?.indexOf(null) ?? -1;
  if (wrong >= 0) {
    return { invalid: `Of "nifs", number ${wrong + 1} is not nine digits, or its check digit is wrong.` };
  }
  // A company that stands there twice has each change once.
  const distinct = companies === null ? null : [...new Set(companies as string[])];
  return { input: { after: number, nifs: distinct, kinds: wanted } };
}
