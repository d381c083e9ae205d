import { loadGrants } from '../credit-history.ts';
import { html } from '../html.ts';
import type { MemberVisit, Reply } from '../visit.ts';
import { memberPage } from './layout.ts';

/** GET /dashboard/credits: every grant with date, amount and note. */
export async function showCredits(visit: MemberVisit): Promise<Reply> {
  const { texts, formats, tools, account } = visit;
  const grants = await loadGrants(tools.sql, account.id);
  const list = html`
<div class="card list">
<table class="stacked">
  <thead><tr><th scope="col">${texts.date}</th><th scope="col" class="amount">${texts.amount}</th><th scope="col" class="amount">${texts.balance}</th><th scope="col">${texts.note}</th></tr></thead>
  <tbody>${grants.map(
    (grant) => html`
    <tr>
      <th scope="row"><time datetime="${grant.at.toISOString()}">${formats.instant(grant.at)}</time></th>
      <td class="amount" data-label="${texts.amount}"><strong>+${formats.number(grant.credits)}</strong></td>
      <td class="amount" data-label="${texts.balance}">${formats.number(grant.balance)}</td>
      <td data-label="${texts.note}">${grant.note === '' ? '–' : grant.note}</td>
    </tr>`,
  )}
  </tbody>
</table>
</div>`;
  const empty = html`
<div class="card empty"><h2>${texts.creditsEmpty}</h2><p>${texts.creditsEmptyLead(formats.number(account.includedCredits))}</p></div>`;
  const body = html`
<div class="heading">
  <h1>${texts.creditsTitle}</h1>
  <span class="badge">${texts.purchased}: <strong data-figure="credits">${formats.number(account.credits)}</strong></span>
</div>
<p class="lead">${texts.creditsLead}</p>
${grants.length === 0 ? empty : list}`;
  return memberPage(visit, { section: '/credits', title: texts.creditsTitle, body });
}
