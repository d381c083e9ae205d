import { resolutionsRoute } from '../../companies/resolve/resolve-route.ts';
import { type Answer, responseTo } from '../../http/answer.ts';
import { isFree } from '../../http/error-kind.ts';
import type { ItemProblem } from '../../http/list-schema.ts';
import type { MemberContext } from '../context.ts';
import { beginSending, type Cost, callProblem, isPaid, kindOf, makeOwnCall } from '../try/own-call.ts';
import { type Column, type Html, type HtmlValue, html, table } from '../ui/html.ts';
import {
  costText,
  failedCell,
  LINE_END,
  type NifList,
  pastedCell,
  type Row,
  shownText,
} from './screen-list.ts';

/** Names that are resolved at once: as many as POST /resolutions takes. */
export const MAX_NAMES = 100;
/** A text without three letters in a row is no name. */
const NAME = /\p{L}{3}/u;
/** Between the cells of a row. A comma can be part of a name. */
const SEPARATORS = /[;\t|]/;
/** A word that is a number, perhaps rounded by a spreadsheet. */
const NUMBER = /(?<![\p{L}\d])[\d.,]*\d{5,}[\d.,]*(?!\p{L})|\d[.,]\d+E\+?\d+/gu;
/** A line of the list, and the NIF that was chosen for it. */
const CHOICE = /(\d{1,6}):(\d{9})/g;

/** An item of the answer: with candidates, which may be none, or a problem. */
interface Item {
  clear?: boolean;
  candidates?: { nif: string; legal_name: string }[];
  problem?: ItemProblem;
}

/** Names of a list that were resolved. */
export interface Resolved {
  answer: Answer;
  rows: Row[];
  /** One for each row; none if the whole answer is a problem. */
  items: Item[];
  cost: Cost;
}

/** The number of names that were sought: those before the first that was refused or failed at no cost, which can be sought again. */
export function soughtNames({ items }: Resolved): number {
  const first = items.findIndex(({ problem }) => problem !== undefined && isFree(kindOf(problem)));
  return first === -1 ? items.length : first;
}

/** Whether there is a candidate to choose. */
export const hasCandidates = ({ items }: Resolved): boolean =>
  items.some(({ candidates = [] }) => candidates.length > 0);

/** The rows of a list without a right NIF that may have a company's name. */
export const nameRows = ({ rows }: NifList): Row[] =>
  rows
    .filter(({ leftOut }) => leftOut !== null && leftOut !== 'repeated')
    .filter(({ text }) => NAME.test(text) && NAME.test(nameIn(text)));

/** The cell of a row that has the most letters, without numbers. */
function nameIn(text: string): string {
  const cells = text.split(SEPARATORS);
  const letters = cells.map((cell) => cell.match(/\p{L}/gu)?.length ?? 0);
  return cells[letters.indexOf(Math.max(...letters))]!.replace(NUMBER, ' ').trim();
}

/** Whether a sent form pays for clear names alone, so that the others have no candidates. */
const paysClearOnly = ({ sent }: MemberContext): boolean => sent('clear') === 'yes';

/**
 * Resolves the names of some rows, {@link MAX_NAMES} at most, by the pipeline of calls with a key. The same names cost nothing again for ten minutes.
 * @returns `null` for a form that is sent again after that time
 */
export async function resolveNames(
  context: MemberContext,
  rows: Row[],
): Promise<{ resolved: Resolved; fresh: MemberContext } | null> {
  const names = rows.map(({ text }) => nameIn(text));
  const isClearOnly = paysClearOnly(context);
  const sending = await beginSending(context, [isClearOnly ? 'clear names' : 'names', ...names]);
  if (sending === null) return null;
  const input = { names, ...(isClearOnly && { clear_only: true }) };
  const call = await makeOwnCall(context, resolutionsRoute, input, sending.identity);
  await sending.end(call);
  const { answer, cost, fresh } = call;
  const body = answer.ok ? await responseTo(context.tools.publicUrl, answer).json() : { data: [] };
  const { data: items } = body as { data: Item[] };
  return { resolved: { answer, rows, items, cost }, fresh };
}

/**
 * The button that resolves the next names of a list, with the most that it costs, and the choice to pay for clear ones alone; nothing for
 * a list without any.
 */
export function resolveButton(context: MemberContext, { length }: Row[]): HtmlValue {
  const { messages, formats } = context;
  const count = formats.number(Math.min(length, MAX_NAMES));
  const text =
    length > MAX_NAMES
      ? messages.screenResolveOf(count, formats.number(length))
      : messages.screenResolve(count);
  const choice = html`<label><input type="checkbox" name="clear" value="yes"${paysClearOnly(context) && html` checked`}> ${messages.screenClearOnly}</label>`;
  return (
    length > 0 &&
    html`<button class="quiet" type="submit" name="resolve" value="yes">${text}</button> ${choice}`
  );
}

/**
 * The last line whose name was sought, for the form's field `tried`, so that the next names are further ones. It holds for these lines
 * alone: of a list that was changed all names are sought again.
 */
export const triedUntil = (text: string, line: number): string =>
  `${line}.${Bun.hash(text.split(LINE_END).slice(0, line).join('\n'))}`;

/** @returns 0 if no name of the text was sought */
export function readTried(text: string, tried: string): number {
  const line = Number(/^\d{1,6}/.exec(tried)?.[0] ?? 0);
  return line > 0 && tried === triedUntil(text, line) ? line : 0;
}

/** The sentence after the cost: how to use the candidates, or why names without any cost a credit. */
function nextStep({ messages }: MemberContext, resolved: Resolved): string {
  if (hasCandidates(resolved)) return messages.screenTake;
  const { items, cost } = resolved;
  const hasCharged = items.some(({ problem }) => problem !== undefined && !isFree(kindOf(problem)));
  return isPaid(cost) && !hasCharged ? messages.screenAtLeast : '';
}

/**
 * The candidates of each name, to choose from. The choices travel as one field, because a form has few. dashboard.js keeps it; without
 * this script it has the clear ones.
 */
export function resolvedNames(context: MemberContext, resolved: Resolved): Html {
  const { answer, rows, items, cost } = resolved;
  const { messages } = context;
  if (!answer.ok)
    return html`<div>${callProblem(context, answer.problem)} ${isPaid(cost) && html`<p class="hint">${costText(context, cost)}</p>`}</div>`;
  const found = rows.map((row, index) => ({ row, item: items[index]! }));
  const clear = found.flatMap(({ row, item }) =>
    item.clear ? [`${row.line}:${item.candidates![0]!.nif}`] : [],
  );
  const choice = ({ row, item }: (typeof found)[number]) => {
    const { candidates = [], clear = false, problem } = item;
    if (problem !== undefined) return failedCell(context, kindOf(problem), cost);
    if (candidates.length === 0)
      return paysClearOnly(context) ? messages.screenNotClear : messages.screenNoCandidate;
    return html`
<select data-line="${row.line}" aria-label="${shownText(row)}">
  <option value="">${messages.screenChoose}</option>
  ${candidates.map(({ nif, legal_name }, index) => html`<option value="${nif}"${clear && index === 0 && html` selected`}>${nif} ${legal_name}</option>`)}
</select>${clear && html` <span class="badge good">${messages.screenClear}</span>`}`;
  };
  const columns: Column<(typeof found)[number]>[] = [
    [messages.screenPasted, ({ row }) => pastedCell(row)],
    [messages.screenCandidates, choice],
  ];
  return html`
<div data-resolved>
  <p class="hint">${costText(context, cost)} ${nextStep(context, resolved)}</p>
  <input type="hidden" name="choices" value="${clear.join(' ')}">
  ${table(columns, found)}
</div>`;
}

/** The text of a list with the chosen NIFs behind their rows. */
export function withChoices(text: string, choices: string): string {
  const lines = text.split(LINE_END);
  const chosen = choices.matchAll(CHOICE).take(MAX_NAMES);
  // One for each row, because a long row takes long.
  for (const [index, nif] of new Map(chosen.map(([, line, nif]) => [Number(line) - 1, nif]))) {
    if (index in lines) lines[index] += ` → ${nif}`;
  }
  return lines.join('\n');
}
