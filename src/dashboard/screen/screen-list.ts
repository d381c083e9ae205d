import { isValidNif, normalizeNif } from '../../companies/nif.ts';
import { UNPAID } from '../../http/api-route.ts';
import type { ProblemName } from '../../http/problems.ts';
import type { MemberContext } from '../context.ts';
import { type Cost, itemProblem, problemLink } from '../try/own-call.ts';
import { type Column, type Html, html, table } from '../ui/html.ts';

export const LINE_END = /\r\n?|\n/;

/** Nine digits in one, or three groups of three. No digit stands beside them. */
const NUMBERS = /(?<!\d|\d[.-])\d{3}(?:\d{6}|[ \u00a0\u202f.-]\d{3}[ \u00a0\u202f.-]\d{3})(?!\d)/g;
/** A Portuguese telephone number, beside the NIF of its row. */
const TELEPHONE = /^(?:2|9[1236])/;
/** The first row names the columns. */
const HEADING = /\b(?:nif|nipc|contribuinte|vat|tax)\b/i;
/** A spreadsheet has rounded the number, as in 5,00003E+08. */
const ROUNDED = /\d[.,]\d+E\+?\d+/i;
/** Digits that may have been meant as a NIF. */
const DIGITS = /(?<!\d)\d{6,12}(?!\d)/;
/** Rows of a list, empty ones too: twice as many as it may have companies. 15,000 would keep the event loop for 100 ms. */
export const MAX_ROWS = 2000;

/** A NIF that was chosen for a row's name, behind the row (screen-names.ts). It stands for every number of the row. */
const CHOSEN = / → (\d{9})$/;

/** Why a row is not screened: its number is there before, has a wrong check digit, has another length, was rounded, or is missing. */
type LeftOut = 'repeated' | 'wrong' | 'length' | 'rounded' | 'missing';

/** A row of the pasted text. One with several numbers has a row for each. */
export interface Row {
  /** Its place in the text, from 1 on; empty rows count. */
  line: number;
  /** As it was pasted. */
  text: string;
  /** Nine digits; `null` means that the row has no such number. */
  nif: string | null;
  /** `null` means that its company is screened. */
  leftOut: LeftOut | null;
  /** Of a repeated number: the line in which it stands first. */
  firstLine?: number;
}

/** The rows of a text that a member has pasted: a list, or rows of a table with whatever else is in them. */
export interface NifList {
  /** In the order of the text, without empty ones and the names of columns. */
  rows: Row[];
  /** The NIFs to screen, each once, in the order of the text. */
  nifs: string[];
}

/** @returns the number of the text's rows if it has more than {@link MAX_ROWS}: then none is taken */
export function readNifList(text: string): NifList | number {
  const lines = text.trimEnd().split(LINE_END);
  if (lines.length > MAX_ROWS) return lines.length;
  const firstLines = new Map<string, number>();
  const rows = lines.flatMap((whole, index): Row[] => {
    const [behind = '', chosen] = CHOSEN.exec(whole) ?? [];
    const shown = { line: index + 1, text: whole.slice(0, whole.length - behind.length).trim() };
    const found = chosen
      ? [chosen]
      : Array.from(whole.matchAll(NUMBERS), ([number]) => normalizeNif(number)!);
    const hasOne = found.filter(isValidNif).length === 1;
    const numbers = found.filter((number) => !hasOne || isValidNif(number) || !TELEPHONE.test(number));
    if (numbers.length === 0) {
      const isLeftAway = shown.text === '' || (index === 0 && HEADING.test(shown.text));
      return isLeftAway ? [] : [{ ...shown, nif: null, leftOut: reasonOf(whole) }];
    }
    return numbers.map((nif) => {
      if (!isValidNif(nif)) return { ...shown, nif, leftOut: 'wrong' };
      const firstLine = firstLines.get(nif);
      if (firstLine !== undefined) return { ...shown, nif, leftOut: 'repeated', firstLine };
      firstLines.set(nif, shown.line);
      return { ...shown, nif, leftOut: null };
    });
  });
  return rows.length > MAX_ROWS ? rows.length : { rows, nifs: [...firstLines.keys()] };
}

function reasonOf(text: string): LeftOut {
  if (ROUNDED.test(text)) return 'rounded';
  return DIGITS.test(text) ? 'length' : 'missing';
}

/** The cost of sending a list, as a sentence. */
export function costText({ messages, formats }: MemberContext, { credits, isRepeated }: Cost): string {
  return `${isRepeated ? messages.screenAgain : messages.creditsSpent(formats.number(credits))}.`;
}

/** Whether an item lacks its credit. A repetition answers 503 to those that its first sending has not paid. */
export const isUnpaid = (kind: ProblemName, { isRepeated }: Cost): boolean =>
  UNPAID.some((unpaid) => unpaid === kind) || (isRepeated && kind === 'service-unavailable');

/** The outcome of an item with a problem, in words. */
export const failedText = (context: MemberContext, kind: ProblemName, cost: Cost): string =>
  isUnpaid(kind, cost) ? context.messages.screenOutcomes.unpaid : itemProblem(context, kind);

/** The same with a link to the problem, unless the page says elsewhere what to do about it. */
export const failedCell = (context: MemberContext, kind: ProblemName, cost: Cost): Html =>
  html`${failedText(context, kind, cost)} ${!isUnpaid(kind, cost) && problemLink(context, kind)}`;

/** Why a row is not screened, in words. */
export function leftOutText({ messages, formats }: MemberContext, { leftOut, firstLine }: Row): string {
  const text = messages.screenLeftOut[leftOut!];
  return typeof text === 'function' ? text(formats.number(firstLine!)) : text;
}

/** Characters of a row that a table has. A file has all of them. */
const MAX_TEXT = 80;

export const shownText = ({ text }: Row): string => text.slice(0, MAX_TEXT);

/** The cell of a row as it was pasted. */
export function pastedCell(row: Row): Html {
  const shown = shownText(row);
  return html`<span class="cut" title="${shown}">${shown}</span>`;
}

/** The outcome of each row of a list: a sentence that adds up to the rows, and the rows that are not screened, with the reason. */
export function reconciled(context: MemberContext, { rows, nifs }: NifList): Html {
  const { messages, formats } = context;
  const leftOut = rows.filter((row) => row.leftOut !== null);
  const countOf = (...reasons: Row['leftOut'][]) =>
    rows.filter((row) => reasons.includes(row.leftOut)).length;
  const parts: [count: number, text: (count: string) => string][] = [
    [nifs.length, messages.companyCount],
    [countOf('repeated'), messages.screenRepeated],
    [countOf('wrong'), messages.screenWrong],
    [countOf('length', 'rounded', 'missing'), messages.screenWithoutNif],
  ];
  const sums = parts.filter(([count]) => count > 0).map(([count, text]) => text(formats.number(count)));
  const columns: Column<Row>[] = [
    [messages.screenPasted, pastedCell],
    [messages.screenLine, ({ line }) => formats.number(line), 'amount'],
    [messages.screenWhy, (row) => leftOutText(context, row)],
  ];
  return html`
<p data-rows>${messages.screenRows(formats.number(rows.length))}: ${sums.join(', ')}.</p>
${leftOut.length > 0 && html`<details${leftOut.length <= 10 && html` open`}><summary>${messages.screenLeftOutTitle(formats.number(leftOut.length))}</summary>${table(columns, leftOut, 'left-out')}</details>`}`;
}
