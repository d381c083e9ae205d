import { type DebtDataset, readDatasets } from '../../datasets/store.ts';
import type { MemberVisit } from '../request/visit.ts';
import { type Html, html } from '../ui/html.ts';

/** A line on how old the data is that the API answers from; the same facts as GET /datasets. */
export async function datasetsLine({ tools, texts, formats }: MemberVisit): Promise<Html> {
  const { directory, debts } = await readDatasets(tools.sql);
  const companies = (count: number) => texts.dataCompanies(formats.number(count));
  const debtsOf = (name: string, dataset: DebtDataset | null) => {
    if (dataset === null) return html`${name}: ${texts.dataNone}`;
    const day = formats.date(new Date(`${dataset.date}T00:00:00Z`));
    return html`${name}: ${companies(dataset.companies)}, ${texts.dataOf} <time datetime="${dataset.date}">${day}</time>`;
  };
  const { updated } = directory;
  const imported =
    updated === null
      ? texts.dataNone
      : html`${companies(directory.companies)}, ${texts.dataImported} <time datetime="${updated.toISOString()}">${formats.date(updated)}</time>`;
  return html`
<section class="datasets" aria-label="${texts.data}">
  <p class="hint">${texts.dataDirectory}: ${imported} · ${debtsOf(texts.dataTax, debts.tax)} · ${debtsOf(texts.dataSocialSecurity, debts.socialSecurity)}</p>
</section>`;
}
