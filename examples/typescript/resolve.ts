/**
 * `bun resolve.ts NAMES.csv OUT.csv` gives the companies of a list their NIFs, a credit for each name that finds one.
 *
 * The names are the first column of NAMES.csv, whose columns end with commas, semicolons or tabs, as its first row says. OUT.csv
 * gets a row for each, in their order: the likeliest company, and the evidence for each word of the name. Look at the rows that are
 * not clear before you trust them. Each batch is written when it is answered. Run it again after it has stopped, however it did: names that
 * OUT.csv has are not asked for, nor paid, again.
 */
import { appendFileSync } from 'node:fs';
import type { components } from './api.d.ts';
import { client, explain, run } from './client.ts';
import { completeLines, textOf } from './files.ts';

/** A batch that a killed run has paid but not written is free for ten minutes. */
const BATCH = 100;
const HEADER = 'name,status,clear,nif,legal_name,evidence';

type Item = components['schemas']['ResolvedName'];

function namesOf(path: string): string[] {
  const text = textOf(path);
  if (text.includes('\ufffd')) throw new Error(`${path}: not UTF-8. Save it as UTF-8`);
  const unquoted = text.split(/[\r\n]/, 1)[0]!.replaceAll(/"[^"]*"/g, '');
  // Spreadsheets save with semicolons where a comma is in numbers.
  const separator = [';', '\t'].find((one) => unquoted.includes(one)) ?? ',';
  const names = firstCells(path, text, separator);
  if (['name', 'nome', 'legal_name'].includes(names[0]?.toLowerCase() ?? '')) names.shift();
  if (names.length === 0) throw new Error(`${path}: no name in its first column`);
  return names;
}

/** The first cell of each row. A quoted cell may have separators, quotes and line breaks. A row without a name is told. */
function firstCells(path: string, text: string, separator: string): string[] {
  const cell = `"(?:[^"]|"")*"|(?!")[^${separator}\r\n]*`;
  const form = new RegExp(`(${cell})(?:${separator}(?:${cell}))*(?:\r\n|\r|\n|$)`, 'y');
  const names: string[] = [];
  while (form.lastIndex < text.length) {
    const at = form.lastIndex;
    const [row, first = ''] = form.exec(text) ?? [];
    if (row === undefined)
      throw new Error(
        `${path}: a quote is not closed, or text follows it: ${text
          .slice(at)
          .split(/[\r\n]/, 1)[0]!
          .trim()}`,
      );
    const name = oneLine(first.startsWith('"') ? first.slice(1, -1).replaceAll('""', '"') : first);
    if (name !== '') names.push(name);
    else if (/[^\s",;]/.test(row)) console.error(`left out, no name: ${oneLine(row)}`);
  }
  return names;
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

const cell = (text: string) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function row(name: string, item: Item): string {
  const { clear, words, candidates } = 'words' in item ? item : { clear: false, words: [], candidates: [] };
  const { nif, legal_name, evidence } = candidates[0] ?? { nif: '', legal_name: '', evidence: [] };
  const reasons = evidence.map((one, at) => {
    const [kind, text] = typeof one === 'string' ? [one] : Object.entries(one)[0]!;
    return [words[at]!.word, kind, text].filter(Boolean).join(' ');
  });
  return `${[cell(name), item.status, clear, nif, cell(legal_name), reasons.join('; ')].join(',')}\n`;
}

run(async (source: string, out: string) => {
  const lines = completeLines(out, HEADER);
  const all = namesOf(source);
  const done = firstCells(out, lines.slice(1).join('\n'), ',');
  if (done.some((name, index) => name !== all[index]))
    throw new Error(`${out}: its names are not the first ones of ${source}. Write to another file`);
  if (lines.length === 0) appendFileSync(out, `${HEADER}\n`);
  const names = all.slice(done.length);
  let unclear = 0;
  for (let start = 0; start < names.length; start += BATCH) {
    const batch = names.slice(start, start + BATCH);
    const answer = await client.POST('/resolutions', { body: { names: batch } });
    if (!answer.data) throw new Error(explain(answer.error));
    const items = answer.data.data;
    // Names for which the credits did not suffice come last; the service was too busy for others. The next run asks for them.
    const stopped = items.findIndex(({ status }) => status === 429 || status === 503);
    const answered = stopped === -1 ? items : items.slice(0, stopped);
    unclear += answered.filter((item) => !('clear' in item && item.clear)).length;
    appendFileSync(out, answered.map((item, index) => row(batch[index]!, item)).join(''));
    const refused = items[answered.length];
    if (refused !== undefined && 'problem' in refused) {
      const kind = refused.problem.type.split('/').at(-1);
      throw new Error(`${kind}: stopped after ${start + answered.length} of ${names.length} names`);
    }
  }
  console.log(`${names.length} names resolved, ${unclear} to look at`);
});
