import type { MemberContext } from '../context.ts';
import { pathBelow } from '../request/return-path.ts';
import { type HtmlValue, html } from '../ui/html.ts';

const ROWS = 100;

/**
 * A page of a long list, the latest rows first: those before the row in the address (`?before=`). So a page costs the same wherever it is.
 *
 * @param load so many rows, those with lower numbers than `below`
 * @param query that stays in the address
 */
export async function pageOfRows<Row extends { id: number } | { number: number }>(
  context: MemberContext,
  load: (slice: { below: number | undefined; order: 'DESC'; rows: number }) => Promise<Row[]>,
  query: Record<string, string> = {},
): Promise<{ rows: Row[]; links: HtmlValue }> {
  const before = Number(/^\d{1,16}$/.exec(context.url.searchParams.get('before') ?? '')?.[0]);
  const isOlder = Number.isSafeInteger(before);
  // One further row shows that there are more.
  const found = await load({ below: isOlder ? before : undefined, order: 'DESC', rows: ROWS + 1 });
  const rows = found.slice(0, ROWS);
  const end = rows.at(-1)!;
  const last = found.length <= ROWS ? null : 'id' in end ? end.id : end.number;
  return { rows, links: pageLinks(context, pathBelow(context.url), isOlder, last, query) };
}

/**
 * The links of a page of a long list: to the latest rows, and to older ones.
 *
 * @param path of the list, below the dashboard; @param last id of the page's last row; `null` if no row is older
 * @param query that stays in the address
 */
export function pageLinks(
  { messages, tools }: MemberContext,
  path: string,
  isOlder: boolean,
  last: string | number | null,
  query: Record<string, string> = {},
): HtmlValue {
  const link = (further: Record<string, string>, label: string) =>
    html`<a href="${tools.base}${path}?${new URLSearchParams({ ...query, ...further }).toString()}">${label}</a> `;
  const older = last !== null && link({ before: String(last) }, messages.older);
  const latest = isOlder && link({}, messages.latest);
  return (latest || older) && html`<p class="contents">${latest}${older}</p>`;
}
