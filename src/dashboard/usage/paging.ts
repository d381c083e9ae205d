import type { MemberContext } from '../page-context.ts';
import { pathBelow } from '../request/return-path.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { chosenDays, rangeQuery } from './range.ts';

const ROWS = 100;
const MAX_PAGE = 1000;

/** The page of a long list in the address, `?page=`, from 1 on. */
function pageOf(url: URL): number {
  const page = Number(url.searchParams.get('page') ?? 1);
  return Number.isInteger(page) && page >= 1 && page <= MAX_PAGE ? page : 1;
}

/**
 * How many rows of a list its page needs, the latest first: its own, the rows before it, and one further row, which shows that
 * there are more.
 */
export const rowsNeeded = (url: URL): number => pageOf(url) * ROWS + 1;

/** A page of a list. @param all the latest first, at least {@link rowsNeeded} of them if there are that many */
export function pageOfRows<Row>(
  { messages, tools, url }: MemberContext,
  all: Row[],
): { rows: Row[]; links: HtmlValue } {
  const page = pageOf(url);
  const chosen = chosenDays(url);
  const days = chosen !== null && chosen !== 'invalid' && `${rangeQuery(chosen)}&`;
  const link = (to: number, label: string) =>
    html`<a href="${tools.base}${pathBelow(url)}?${days}page=${to}">${label}</a> `;
  const newer = page > 1 && link(page - 1, messages.newerRows);
  const older = all.length > page * ROWS && link(page + 1, messages.olderRows);
  return {
    rows: all.slice((page - 1) * ROWS, page * ROWS),
    links: (newer || older) && html`<p class="contents">${newer}${older}</p>`,
  };
}
