/**
 * `bun follow.ts SUPPLIERS CHANGES.jsonl` appends what has changed for the companies of a file since the last run.
 *
 * A credit for each change, and at least one. Each line is a change, or the cursor of an answer without one, so the last line
 * says where to go on: a run that was killed leaves no gap, and what it has written is not paid again.
 */
import { appendFileSync } from 'node:fs';
import { client, explain, run } from './client.ts';
import { completeLines, nifsOf } from './files.ts';

function cursorOf(line: string): string {
  const { id, next } = JSON.parse(line);
  return next ?? id;
}

run(async (suppliers = '', out = '') => {
  const nifs = nifsOf(suppliers);
  const last = completeLines(out).at(-1);
  let after = last === undefined ? null : cursorOf(last);
  for (let more = true; more; ) {
    // At most 1,000 companies a request. Without `nifs` it is every company of both lists.
    const page = await client.POST('/debts/changes', { body: { after, nifs } });
    if (!page.data) throw new Error(explain(page.error));
    const { data, next } = page.data;
    more = page.data.more;
    after = next;
    const lines = data.map((change) => JSON.stringify(change));
    if (!more) lines.push(JSON.stringify({ next }));
    appendFileSync(out, `${lines.join('\n')}\n`);
    // `ended` means no longer on the list of that date. It does not say that the debt was paid.
    for (const { nif, kind, change, date } of data) console.log(nif, kind, change, date);
  }
});
