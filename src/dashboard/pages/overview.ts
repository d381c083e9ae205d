import { readPlan } from '../../accounts/plan.ts';
import type { MemberVisit, Reply } from '../request/visit.ts';
import { type Html, type HtmlValue, html, trusted } from '../ui/html.ts';
import { memberPage, notice } from '../ui/layout.ts';
import { type DailyHistory, loadDailyCalls, PLOTTED_DAYS } from '../usage/daily-calls.ts';
import { datasetsLine } from '../usage/datasets.ts';
import { type Figures, figuresOf } from '../usage/figures.ts';
import { type Series, type Split, seriesOf } from '../usage/series.ts';
import { allowanceState, forecastText } from './allowance.ts';
import { planEnd } from './credits.ts';
import { errorsSection } from './errors-section.ts';

/** GET /dashboard: plan, credits, bucket, and the calls of the last 90 days. */
export async function showOverview(visit: MemberVisit): Promise<Reply> {
  const { account, tools, texts, url } = visit;
  const [rate, history, datasets, forecast, free] = await Promise.all([
    tools.rateLimiter.peek(account.id, account.requestsPerMinute),
    loadDailyCalls(tools.sql, account.id),
    datasetsLine(visit),
    // Otherwise the notice above says it.
    allowanceState(account) === 'fine' ? forecastText(visit) : null,
    readPlan(tools.sql, 'free'),
  ]);
  const split: Split = url.searchParams.get('by') === 'key' ? 'key' : 'kind';
  const isNew = history.rows.length === 0;
  const body = html`
${notice(url.searchParams.get('done') === 'confirmed' ? texts.confirmed : null)}
<div class="heading">
  <h1>${account.name}</h1>
  <span class="badge ${account.plan}">${texts.plan}: ${texts.plans[account.plan]}</span>
</div>
${isNew && firstSteps(visit)}
${figureCards(visit, figuresOf(account, rate), forecast, planEnd(visit, free))}
${await callsSection(visit, history, split)}
${errorsSection(visit, history.rows)}
${datasets}`;
  return memberPage(visit, { section: '', title: texts.overview, body });
}

function firstSteps({ texts, tools, account }: MemberVisit): Html {
  const step = (title: HtmlValue, lead: string, done = false) =>
    html`<li${done && html` class="done"`}><strong>${title}</strong><span>${lead}</span></li>`;
  return html`
<section class="card steps" aria-labelledby="steps-title">
  <h2 id="steps-title">${texts.startTitle}</h2>
  <ol>
    ${step(html`<a href="${tools.base}/keys">${texts.startKey}</a>`, texts.startKeyLead, account.keys > 0)}
    ${step(html`<a href="${tools.base}/try">${texts.startCall}</a>`, texts.startCallLead)}
    ${step(texts.startSee, texts.startSeeLead)}
  </ol>
</section>`;
}

function figureCards(
  visit: MemberVisit,
  figures: Figures,
  forecast: string | null,
  ends: string | null,
): Html {
  const { texts, formats, tools, account } = visit;
  const { usage, includedLeft, available, beyond } = figures;
  const { number } = formats;
  const { requests, apiKeys } = usage.quotas;
  const resetAt = new Date(usage.resetAt);
  const keysLimit = apiKeys.limit === null ? null : number(apiKeys.limit);
  // A period that Plus ends in is followed by one of the Free plan: nothing is reset.
  const isLastPeriod = account.planUntil !== null && account.planUntil <= account.period.end;
  const inclusiveEnd = new Date(account.period.end.getTime() - 1);
  return html`
<div class="figures">
  <section class="card figure full main-figure ${allowanceState(account)}">
    <h2>${texts.available}</h2>
    <p class="big" data-figure="available">${number(available)}</p>
    <p>${texts.availableSum(number(includedLeft), number(available - includedLeft))}</p>
    ${forecast !== null && html`<p data-forecast>${forecast}</p>`}
  </section>
  <section class="card figure full">
    <h2>${texts.included}</h2>
    <p class="big"><span data-figure="used">${number(requests.used)}</span><small> / ${number(requests.limit)}</small></p>
    ${meter(texts.usedOf(number(requests.used), number(requests.limit)), requests.used, requests.limit)}
    <p>${beyond > 0 ? texts.beyond(number(beyond)) : texts.left(number(includedLeft))}</p>
  </section>
  <section class="card figure full">
    <h2>${texts.purchased}</h2>
    <p class="big" data-figure="credits">${number(usage.credits)}</p>
    <p>${texts.purchasedHint}</p>
    <p><a href="${tools.base}/credits">${texts.history}</a></p>
  </section>
  <section class="card figure">
    <h2>${texts.bucket}</h2>
    <p class="big"><span data-figure="remaining">${number(usage.rateLimit.remaining)}</span><small> / ${number(usage.rateLimit.limit)}</small></p>
    ${meter(texts.bucketNow(number(usage.rateLimit.remaining), number(usage.rateLimit.limit)), usage.rateLimit.remaining, usage.rateLimit.limit)}
    <p>${texts.bucketHint(number(usage.rateLimit.limit))}</p>
  </section>
  <section class="card figure">
    <h2>${texts.keys}</h2>
    <p class="big"><span data-figure="keys">${number(apiKeys.used)}</span>${keysLimit !== null && html`<small> / ${keysLimit}</small>`}</p>
    <p>${texts.keysUsed(number(apiKeys.used), keysLimit)}</p>
    <p><a href="${tools.base}/keys">${texts.manageKeys}</a></p>
  </section>
  <section class="card figure full">
    <h2>${texts.period}</h2>
    <p class="medium"><time datetime="${usage.period.start}">${formats.date(account.period.start)}</time> –
      <time datetime="${usage.period.end}">${formats.date(inclusiveEnd)}</time></p>
    ${ends !== null && html`<p data-plan-end><strong>${ends}</strong></p>`}
    <p><span class="term">${isLastPeriod ? texts.ends : texts.reset}</span> <strong>${texts.resetIn(formats.duration(resetAt.getTime() - Date.now()))}</strong><br>
      <time datetime="${usage.resetAt}">${formats.instant(resetAt)}</time></p>
  </section>
</div>`;
}

/** A bar from 0 to `limit`; what is beyond it fills it. */
function meter(label: string, value: number, limit: number): Html {
  const shown = Math.min(value, limit);
  return html`<progress aria-label="${label}" max="${Math.max(limit, 1)}" value="${shown}">${label}</progress>`;
}

async function callsSection(visit: MemberVisit, history: DailyHistory, split: Split): Promise<Html> {
  const { texts, formats, tools } = visit;
  const all = seriesOf(history.rows, split, texts);
  const total = all.reduce((sum, series) => sum + series.total, 0);
  const tab = (by: Split, label: string) =>
    html`<a href="${tools.base}?by=${by}#calls"${by === split && html` aria-current="true"`}>${label}</a>`;
  return html`
<section class="card calls" id="calls" aria-labelledby="calls-title">
  <div class="heading">
    <div>
      <h2 id="calls-title">${texts.plotTitle}</h2>
      <p class="lead">${texts.plotLead(PLOTTED_DAYS)} · <span data-figure="plotted">${texts.plotTotal(formats.number(total))}</span></p>
    </div>
    <div class="tabs">${tab('kind', texts.byKind)}${tab('key', texts.byKey)}</div>
  </div>
  ${total === 0 ? emptyPlot(visit) : await plots(visit, history.today, all, total)}
</section>`;
}

function emptyPlot({ texts }: MemberVisit): Html {
  return html`<div class="empty"><h3>${texts.plotEmpty}</h3><p>${texts.plotEmptyLead}</p></div>`;
}

async function plots(visit: MemberVisit, today: string, all: Series[], total: number): Promise<Html> {
  const { texts, formats, tools } = visit;
  const key = [visit.account.id, today, texts.lang, ...all.map((series) => series.label)].join('\n');
  const drawing = await tools.drawings(key, async () => {
    // Only now: the library is large, and an instance whose dashboard nobody opens does without it.
    const { plotDailyCalls } = await import('../usage/plot.ts');
    const label = texts.plotLabel(formats.number(total), PLOTTED_DAYS);
    const draw = (width: number, height: number) =>
      trusted(plotDailyCalls(all, { today, width, height, label, formats }));
    return { wide: draw(1000, 260), narrow: draw(360, 220) };
  });
  return html`
<ul class="legend">${all.map((series) => html`<li>${series.label} <strong>${formats.number(series.total)}</strong></li>`)}</ul>
<div class="plot-wide">${drawing.wide}</div>
<div class="plot-narrow">${drawing.narrow}</div>
<div class="under">
  <details>
    <summary>${texts.table}</summary>
    ${table(visit, all)}
    <p class="hint">${texts.tableEmptyDays}</p>
  </details>
  <a href="${tools.base}/usage.csv" download>${texts.csv}</a>
</div>`;
}

function table({ texts, formats }: MemberVisit, all: Series[]): Html {
  const days = [...new Set(all.flatMap((series) => [...series.calls.keys()]))].sort().reverse();
  const at = (series: Series, day: string) => series.calls.get(day) ?? 0;
  return html`
<div class="scroll" tabindex="0" role="region" aria-label="${texts.table}">
<table class="numbers">
  <thead><tr><th scope="col">${texts.day}</th>${all.map((series) => html`<th scope="col">${series.label}</th>`)}<th scope="col">${texts.total}</th></tr></thead>
  <tbody>${days.map(
    (day) => html`
    <tr><th scope="row"><time datetime="${day}">${formats.date(new Date(`${day}T00:00:00Z`))}</time></th>${all.map(
      (series) => html`<td>${formats.number(at(series, day))}</td>`,
    )}<td>${formats.number(all.reduce((sum, series) => sum + at(series, day), 0))}</td></tr>`,
  )}
  </tbody>
  <tfoot><tr><th scope="row">${texts.total}</th>${all.map((series) => html`<td>${formats.number(series.total)}</td>`)}<td>${formats.number(
    all.reduce((sum, series) => sum + series.total, 0),
  )}</td></tr></tfoot>
</table>
</div>`;
}
