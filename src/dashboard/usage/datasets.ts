import { type DebtDataset, readDatasets } from '../../datasets/store.ts';
import type { MemberContext } from '../request/page-context.ts';
import { type Html, html } from '../ui/html.ts';

/** A line with the age of the API's data, as GET /datasets has it. */
export async function datasetsLine({ tools, messages, formats }: MemberContext): Promise<Html> {
  const { directory, debts } = await readDatasets(tools.sql);
  const companies = (count: number) => messages.dataCompanies(formats.number(count));
  const debtsOf = (name: string, dataset: DebtDataset | null) => {
    if (dataset === null) return html`${name}: ${messages.dataNone}`;
    const day = formats.date(new Date(`${dataset.date}T00:00:00Z`));
    return html`${name}: ${companies(dataset.companies)}, ${messages.dataOf} <time datetime="${dataset.date}">${day}</time>`;
  };
  const { updated } = directory;
  const imported =
    updated === null
      ? messages.dataNone
      : html`${companies(directory.companies)}, ${messages.dataImported} <time datetime="${updated.toISOString()}">${formats.date(updated)}</time>`;
  return html`
<section class="datasets" aria-label="${messages.data}">
  <p class="hint">${messages.dataDirectory}: ${imported} · ${debtsOf(messages.dataTax, debts.tax)} · ${debtsOf(messages.dataSocialSecurity, debts.socialSecurity)}</p>
</section>`;
}
