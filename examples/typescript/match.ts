/**
 * `bun match.ts NAMES.csv OUT.csv` gives the companies of a list their NIFs, a credit for each name.
 *
 * The names are the first column of NAMES.csv. OUT.csv gets a row for each, in their order: the first company that was found, and
 * how many there are (5: perhaps more). Look at a row with several before you trust it. Each batch is written when it is answered.
 * Run it again after it has stopped, however it did: names that OUT.csv has are not asked for, nor paid, again.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import type { components } from './api.d.ts';
import { client, explain, run } from './client.ts';
import { completeLines } from './files.ts';

/** A batch that a killed run has paid but not written is paid again. */
const BATCH = 100;
const HEADER = 'name,status,matches,nif,legal_name';

type Item = components['schemas']['MatchItem'];

/** The first cell of each row: quoted, or up to a comma. */
function namesOf(path: string): string[] {
  const rows = readFileSync(path, 'utf8')
    .replace(/^\ufeff/, '')
    .matchAll(/^(?:"((?:[^"]|"")*)"|([^,\r\n]*)).*$/gm);
  const cells = [...rows].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
  const names = cells.map((cell) => cell.replaceAll(/\s+/g, ' ').trim()).filter((cell) => cell !== '');
  return ['name', 'nome', 'legal_name'].includes(names[0]?.toLowerCase() ?? '') ? names.slice(1) : names;
}

const cell = (text: string) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function row(name: string, item: Item): string {
  const companies = 'companies' in item ? item.companies : [];
  const { nif, legal_name } = companies[0] ?? { nif: '', legal_name: '' };
  return `${[cell(name), item.status, companies.length, nif, cell(legal_name)].join(',')}\n`;
}

run(async (source = '', out = '') => {
  const lines = completeLines(out);
  if (lines.length === 0) appendFileSync(out, `${HEADER}\n`);
  const names = namesOf(source).slice(Math.max(0, lines.length - 1));
  for (let start = 0; start < names.length; start += BATCH) {
    const batch = names.slice(start, start + BATCH);
    const answer = await client.POST('/matches', { body: { queries: batch } });
    if (!answer.data) throw new Error(explain(answer.error));
    const items = answer.data.data;
    // Names for which the credits did not suffice come last; the service was too busy for others. The next run asks for them.
    const stopped = items.findIndex(({ status }) => status === 429 || status === 503);
    const answered = stopped === -1 ? items : items.slice(0, stopped);
    appendFileSync(out, answered.map((item, index) => row(batch[index]!, item)).join(''));
    const refused = items[answered.length];
    if (refused !== undefined && 'problem' in refused) {
      const kind = refused.problem.type.split('/').at(-1);
      throw new Error(`${kind}: stopped after ${start + answered.length} of ${names.length} names`);
    }
  }
  console.log(`${names.length} names matched`);
});
