import type { Slice } from '../../platform/postgres/batches.ts';
import type { MemberContext } from '../page-context.ts';
import { pathBelow } from '../request/return-path.ts';
import { type HtmlValue, html } from '../ui/html.ts';
import { chosenDays, rangeQuery } from './range.ts';

const ROWS = 100;

/** The id in a parameter of the address; `undefined` for none. */
function idOf({ searchParams }: URL, name: string): number | undefined {
  const text = searchParams.get(name) ?? '';
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/**
 * A page of a long list, the latest rows first: those before the row in the address (`?before=`), or those that come right after
 * one (`?after=`). So a page costs the same wherever it is.
 *
 * @param load a slice of the list
 */
export async function pageOfRows<Row extends { id: number }>(
  { messages, tools, url }: MemberContext,
  load: (slice: Slice) => Promise<Row[]>,
): Promise<{ rows: Row[]; links: HtmlValue }> {
  const [above, below] = [idOf(url, 'after'), idOf(url, 'before')];
  const order = above === undefined ? 'DESC' : 'ASC';
  // One further row shows that there are more.
  const found = await load({ above, below, order, rows: ROWS + 1 });
  const rows = found.slice(0, ROWS);
  const hasMore = found.length > ROWS;
  if (order === 'ASC') rows.reverse();
  const [first, last] = [rows[0], rows.at(-1)];
  const chosen = chosenDays(url);
  const days = chosen !== null && chosen !== 'invalid' && `${rangeQuery(chosen)}&`;
  const link = (query: string, label: string) =>
    html`<a href="${tools.base}${pathBelow(url)}?${days}${query}">${label}</a> `;
  const isNewer = order === 'ASC' ? hasMore : below !== undefined;
  const newer = first !== undefined && isNewer && link(`after=${first.id}`, messages.newerRows);
  const isOlder = order === 'ASC' || hasMore;
  const older = last !== undefined && isOlder && link(`before=${last.id}`, messages.olderRows);
  return { rows, links: (newer || older) && html`<p class="contents">${newer}${older}</p>` };
}
