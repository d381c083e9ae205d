/**
 * `bun screen.ts SUPPLIERS OUT.csv` screens the companies of a file for debts, a credit each.
 *
 * Each batch is appended to OUT.csv when it is answered. Run it again after it has stopped, however it did: companies that OUT.csv
 * has are not asked for, nor paid, again.
 */
import { appendFileSync } from 'node:fs';
import type { components } from './api.d.ts';
import { client, explain, run } from './client.ts';
import { completeLines, nifsOf } from './files.ts';

/** Up to 1,000. A batch that a killed run has paid but not written is free for ten minutes. */
const BATCH = 100;
const HEADER =
  'nif,status,tax_start,tax_end,tax_date,social_security_start,social_security_end,social_security_date';

type Item = components['schemas']['ScreenedItem'];
type Bracket = components['schemas']['DebtBracket'] | null;

const cells = (bracket: Bracket) => [bracket?.start, bracket?.end, bracket?.last_updated].join(',');

function row(item: Item): string {
  const { tax_debt, social_security_debt } =
    'debts' in item ? item.debts : { tax_debt: null, social_security_debt: null };
  return `${item.nif},${item.status},${cells(tax_debt)},${cells(social_security_debt)}\n`;
}

run(async (suppliers: string, out: string) => {
  const done = new Set(completeLines(out, HEADER).map((line) => line.split(',')[0]));
  const nifs = nifsOf(suppliers).filter((nif) => !done.has(nif));
  if (nifs.length === 0) throw new Error(`${out}: has all of them. Name another file to screen them again`);
  if (done.size === 0) appendFileSync(out, `${HEADER}\n`);
  for (let start = 0; start < nifs.length; start += BATCH) {
    const answer = await client.POST('/debts', { body: { nifs: nifs.slice(start, start + BATCH) } });
    if (!answer.data) throw new Error(explain(answer.error));
    const { data, datasets } = answer.data;
    // The credits did not suffice for some (429), or the service was too busy (503). The next run asks for them.
    const answered = data.filter(({ status }) => status !== 429 && status !== 503);
    appendFileSync(out, answered.map(row).join(''));
    for (const [name, date] of Object.entries(datasets)) {
      if (date === null) console.error(`the list ${name} was never imported: no bracket there says nothing`);
    }
    const refused = data.find((item) => !answered.includes(item));
    if (refused !== undefined && 'problem' in refused) {
      const kind = refused.problem.type.split('/').at(-1);
      throw new Error(`${kind}: stopped after ${start + answered.length} of ${nifs.length} companies`);
    }
  }
  console.log(`${nifs.length} companies screened`);
});
