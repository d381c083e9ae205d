/**
 * `bun follow.ts SUPPLIERS CHANGES.jsonl` appends what has changed for the companies of a file since the last run.
 *
 * A credit for each change, and at least one for each 1,000 companies, which are a request. Each line is a change, or the cursor of an
 * answer that ends a request's changes, with the requests that are `left` in its run. So the lines say where to go on: a run that was
 * killed leaves no gap, and what it has written is not paid again.
 */
import { appendFileSync } from 'node:fs';
import { client, explain, run } from './client.ts';
import { completeLines, nifsOf } from './files.ts';

/** Without `nifs` a request asks for every company of both lists. */
const MOST = 1000;

interface Entry {
  id?: string;
  next?: string;
  left?: number;
}

const numberOf = (cursor: string) => Number(cursor.slice(4));

/** The cursor at which the run began, those of its requests that have ended, and the one of the request that has not. */
function placeOf(entries: Entry[]) {
  let begin: string | null = null;
  let ended: string[] = [];
  let after: string | null = null;
  for (const { id, next, left } of entries) {
    after = id ?? null;
    if (next === undefined) continue;
    ended.push(next);
    if (left !== undefined) continue;
    // From the earliest on, so that a company may move to another request. What is then repeated is dropped by its id.
    [begin = null] = ended.toSorted((a, b) => numberOf(a) - numberOf(b));
    ended = [];
  }
  return { begin, ended, after };
}

run(async (suppliers: string, out: string) => {
  const nifs = nifsOf(suppliers);
  const entries: Entry[] = completeLines(out, '{').map((line) => JSON.parse(line));
  const written = new Set(entries.map(({ id }) => id));
  let { begin, ended, after } = placeOf(entries);
  const requests = Math.ceil(nifs.length / MOST);
  // The last request is asked again if the list became shorter.
  for (let index = Math.min(ended.length, requests - 1); index < requests; index += 1) {
    const left = requests - index - 1;
    after ??= begin;
    for (let more = true; more; ) {
      const body = { after, nifs: nifs.slice(index * MOST, (index + 1) * MOST) };
      const page = await client.POST('/debts/changes', { body });
      if (!page.data) throw new Error(explain(page.error));
      const { data, next } = page.data;
      more = page.data.more;
      after = next;
      const changes = data.filter(({ id }) => !written.has(id));
      const lines = changes.map((change) => JSON.stringify(change));
      if (!more) lines.push(JSON.stringify(left > 0 ? { next, left } : { next }));
      appendFileSync(out, lines.map((line) => `${line}\n`).join(''));
      // `ended` means no longer on the list of that date. It does not say that the debt was paid.
      for (const { nif, kind, change, date } of changes) console.log(nif, kind, change, date);
    }
    after = null;
  }
});
