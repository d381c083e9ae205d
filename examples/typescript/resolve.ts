/**
 * `bun resolve.ts NAMES.csv OUT.csv [--heading|--no-heading] [--clear-only]` gives the companies of a list their NIFs, a credit for each
 * name that finds one. With `--clear-only` names that are not clear cost nothing, and have no likeliest company.
 *
 * The names are the first column of NAMES.csv, whose columns end with commas, semicolons or tabs, as its first row says. OUT.csv
 * gets each row as it is, in their order, and seven columns more: the NIF if the name is clear, else that of the likeliest company,
 * and the evidence for each word of the name. Look at the rows that are not clear, and compare names that have `extra` words. Each batch
 * is written when it is answered. Run it again after it has stopped, however it did: rows that OUT.csv has are not asked for, nor paid,
 * again.
 */
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import type { components } from './api.d.ts';
import { client, explain, run } from './client.ts';
import { textOf } from './files.ts';

/** A batch that a killed run has paid but not written is free for ten minutes. */
const BATCH = 100;
const COLUMNS = ['nif', 'likeliest', 'legal_name', 'clear', 'extra', 'evidence', 'status'];
/** A first row is a heading if its name is one of these, without accents. */
const HEADINGS =
  'nome, name, empresa, company, fornecedor, supplier, cliente, customer, entidade, entity, firma, designacao, denominacao, denominacao social, razao social, legal_name, legal name, nome da empresa, nome do fornecedor, nome do cliente, nome da entidade'.split(
    ', ',
  );

type Item = components['schemas']['ResolvedName'];

/** The heading of OUT.csv, and for each name the beginning of its row there: the row of NAMES.csv, as wide as the widest. */
function tableOf(path: string, option: string) {
  const text = textOf(path).replaceAll(/\r\n?/g, '\n');
  if (text.includes('\ufffd')) throw new Error(`${path}: not UTF-8. Save it as UTF-8`);
  const unquoted = text.split('\n', 1)[0]!.replaceAll(/"[^"]*"/g, '');
  // Spreadsheets save with semicolons where a comma is in numbers.
  const separator = [';', '\t'].find((one) => unquoted.includes(one)) ?? ',';
  const rows = namedRows(path, text, separator);
  const width = rows.reduce((most, row) => Math.max(most, row.width), 1);
  const begin = (row: { text: string; width: number }) => row.text + separator.repeat(width - row.width + 1);
  const isHeading = option === '--heading' || (option === '' && isHeadingName(rows[0]?.name ?? ''));
  const first = isHeading ? rows.shift() : undefined;
  console.error(first === undefined ? 'no heading' : `heading: ${first.name}`);
  const heading = first ?? { text: 'name', width: 1 };
  if (rows.length === 0) throw new Error(`${path}: no name in its first column`);
  return {
    separator,
    heading: begin(heading) + COLUMNS.join(separator),
    rows: rows.map((row) => ({ name: row.name, begin: begin(row) })),
  };
}

/** The rows that have a name. A quoted cell may have separators, quotes and line breaks. A row without a name is told. */
function namedRows(path: string, text: string, separator: string) {
  const cell = `(?:"(?:[^"]|"")*"|(?!")[^${separator}\n]*)`;
  const eachCell = new RegExp(`(?:^|${separator})${cell}`, 'g');
  const form = new RegExp(`(${cell}(?:${separator}${cell})*)(?:\n|$)`, 'y');
  const rows: { text: string; width: number; name: string }[] = [];
  while (form.lastIndex < text.length) {
    const at = form.lastIndex;
    const row = form.exec(text)?.[1];
    if (row === undefined)
      throw new Error(
        `${path}: a quote is not closed, or text follows it: ${text.slice(at).split('\n', 1)[0]!.trim()}`,
      );
    const cells = row.match(eachCell) ?? [];
    const first = cells[0] ?? '';
    const name = oneLine(first.startsWith('"') ? first.slice(1, -1).replaceAll('""', '"') : first);
    if (name !== '') rows.push({ text: row, width: cells.length, name });
    else if (/[^\s",;]/.test(row)) console.error(`left out, no name: ${oneLine(row)}`);
  }
  return rows;
}

/** How many of these lines runs before this one have written. The last one is removed if a killed run has cut it off. */
function writtenLines(path: string, source: string, begins: string[]): number {
  const data = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  let [count, end] = [0, 0];
  while (end < data.length) {
    const begin = Buffer.from(begins[count] ?? '\n');
    const found = data.subarray(end, end + begin.length);
    if (!begin.subarray(0, found.length).equals(found))
      throw new Error(`${path}: its rows are not the first ones of ${source}. Write to another file`);
    // A quoted cell of NAMES.csv may have line breaks; the columns after it have none.
    const next = data.indexOf('\n', end + begin.length) + 1;
    if (next === 0) {
      truncateSync(path, end);
      break;
    }
    count += 1;
    end = next;
  }
  return count;
}

const isHeadingName = (name: string) =>
  HEADINGS.includes(name.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, ''));

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

function columnsOf(item: Item, separator: string): string {
  const { clear, words, candidates } = 'words' in item ? item : { clear: false, words: [], candidates: [] };
  const { nif, legal_name, extra, evidence } = candidates[0] ?? {
    nif: '',
    legal_name: '',
    extra: '',
    evidence: [],
  };
  const reasons = evidence.map((one, at) => {
    const [kind, text] = typeof one === 'string' ? [one] : Object.entries(one)[0]!;
    return [words[at]!.word, kind, text].filter(Boolean).join(' ');
  });
  const cell = (text: string) =>
    text.includes('"') || text.includes(separator) ? `"${text.replaceAll('"', '""')}"` : text;
  const nifs = clear ? [nif, ''] : ['', nif];
  return [...nifs, cell(legal_name), clear, extra, cell(reasons.join('; ')), item.status].join(separator);
}

run(async (source: string, out: string, ...options: string[]) => {
  const unknown = options.find((one) => !['--heading', '--no-heading', '--clear-only'].includes(one));
  if (unknown !== undefined) throw new Error(`${unknown}: no such option`);
  const isClearOnly = options.includes('--clear-only');
  const option = options.find((one) => one !== '--clear-only') ?? '';
  const { separator, heading, rows } = tableOf(source, option);
  const written = writtenLines(out, source, [heading, ...rows.map(({ begin }) => begin)]);
  if (written === 0) appendFileSync(out, `${heading}\n`);
  const rest = rows.slice(Math.max(written - 1, 0));
  let unclear = 0;
  for (let start = 0; start < rest.length; start += BATCH) {
    const batch = rest.slice(start, start + BATCH);
    const body = { names: batch.map(({ name }) => name), clear_only: isClearOnly };
    const answer = await client.POST('/resolutions', { body });
    if (!answer.data) throw new Error(explain(answer.error));
    const items = answer.data.data;
    // Names for which the credits did not suffice come last; the service was too busy for others. The next run asks for them.
    const stopped = items.findIndex(({ status }) => status === 429 || status === 503);
    const answered = stopped === -1 ? items : items.slice(0, stopped);
    unclear += answered.filter((item) => !('clear' in item && item.clear)).length;
    const lines = answered.map((item, at) => `${batch[at]!.begin}${columnsOf(item, separator)}\n`);
    appendFileSync(out, lines.join(''));
    const refused = items[answered.length];
    if (refused !== undefined && 'problem' in refused) {
      const kind = refused.problem.type.split('/').at(-1);
      throw new Error(`${kind}: stopped after ${start + answered.length} of ${rest.length} names`);
    }
  }
  console.log(`${rest.length} names resolved, ${unclear} to look at`);
});
