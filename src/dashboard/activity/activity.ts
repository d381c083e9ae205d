import { REASONS, type Reason } from '../../http/problems.ts';
import {
  type ActivityCall,
  type ActivityFilter,
  type ActivityRow,
  callsOf,
  listActivity,
} from '../../metering/activity/activity-store.ts';
import { keysToChoose, namedKeys } from '../../metering/keys/key-list.ts';
import { isRealDate } from '../../platform/dates.ts';
import { DAY } from '../../platform/units.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { keyName } from '../keys/key-parts.ts';
import { prose, reasonText } from '../reference/reference.ts';
import { field } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import { type Column, type Html, type HtmlValue, html, table } from '../ui/html.ts';
import { hoursSection } from '../usage/calls.ts';
import { pageOfRows } from '../usage/paging.ts';

/** The key of calls that were made in the dashboard, in the address. */
const DASHBOARD = 'dashboard';

/** Names of keys by their ids. */
type Names = Map<string, string>;

/** The choices of the page, from its address. */
interface View {
  request: string;
  key: string;
  day: string;
  problems: 'yes' | '';
}

/** GET /dashboard/activity: every call that cost credits, gave some back, or was a problem, in one row each, the latest first. */
export async function showActivity(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, account, url } = context;
  const { activityDays } = tools.config;
  if (activityDays === 0)
    return activityPage(context, html`<p class="card empty">${messages.activityOff}</p>`);
  const view = viewOf(url);
  const isFiltered = Object.values(view).some((value) => value !== '');
  const isWhole = !isFiltered && !url.searchParams.has('before');
  const [{ rows, links }, choices, hours] = await Promise.all([
    pageOfRows(context, (slice) => listActivity(tools.sql, account.id, filterOf(view), slice), { ...view }),
    keysToChoose(tools.sql, account.id),
    isWhole && hoursSection(context),
  ]);
  const [calls, names] = await Promise.all([
    callsOf(tools.sql, account.id, rows, view.problems === 'yes'),
    namesOf(context, [view.key, ...rows.map(({ key }) => key)]),
  ]);
  const keys: Names = new Map([[DASHBOARD, messages.dashboard]]);
  for (const key of choices) keys.set(key.id, keyName(key, messages));
  // A link of another page can choose any key.
  if (view.key !== '' && !keys.has(view.key)) keys.set(view.key, names.get(view.key) ?? view.key);
  const none = isFiltered ? messages.activityNone : messages.activityEmpty;
  return activityPage(
    context,
    html`
${hours}
${filterForm(context, view, keys)}
${calls.length === 0 ? html`<p class="card empty" role="status">${none}</p>` : html`<div class="card list">${table(columnsOf(context, names), calls, 'activity')}</div>`}
${links}`,
  );
}

function activityPage(context: MemberContext, content: Html): Promise<PageResponse> {
  const { messages, formats, tools } = context;
  const body = html`
<h1>${messages.activity}</h1>
<p class="lead">${messages.activityLead(formats.number(tools.config.activityDays))}</p>
${content}`;
  return memberPage(context, { title: messages.activity, body });
}

function viewOf({ searchParams }: URL): View {
  const value = (name: string) => searchParams.get(name) ?? '';
  return {
    request: value('request').trim().slice(0, 200),
    key: /^(?:key_[a-z0-9]{1,40}|dashboard)$/.exec(value('key'))?.[0] ?? '',
    day: isRealDate(value('day')) ? value('day') : '',
    problems: value('problems') === 'yes' ? 'yes' : '',
  };
}

const filterOf = ({ request, key, day, problems }: View): ActivityFilter => ({
  request: request || undefined,
  key: key === '' ? undefined : key === DASHBOARD ? '' : key,
  day: day || undefined,
  problems: problems === 'yes',
});

/** The names of those keys of the account, by id, also of ended ones. Another text or `null` is no key. */
async function namesOf({ tools, account, messages }: MemberContext, ids: (string | null)[]): Promise<Names> {
  const keys = await namedKeys(tools.sql, account.id, [...new Set(ids.map(String))]);
  return new Map(keys.map((key) => [key.id, keyName(key, messages)]));
}

function filterForm(
  { messages, tools }: MemberContext,
  { request, key, day, problems }: View,
  keys: Names,
): Html {
  const shown: [string, string][] = [
    ['', messages.all],
    ['yes', messages.problemsOnly],
  ];
  return html`
<form class="filter calls" method="get" action="${tools.base}/activity" role="search">
  ${field({ name: 'request', label: messages.requestId, type: 'search', value: request, optional: true })}
  ${field({ name: 'problems', label: messages.outcome, options: shown, value: problems })}
  ${field({ name: 'key', label: messages.key, options: [['', messages.all], ...keys], value: key })}
  ${field({ name: 'day', label: messages.day, type: 'date', value: day, optional: true })}
  <button class="quiet" type="submit">${messages.filter}</button>
</form>`;
}

function columnsOf(context: MemberContext, names: Names): Column<ActivityCall>[] {
  const { messages, formats, tools } = context;
  const when = ({ first: { at } }: ActivityCall) =>
    html`<time datetime="${at.toISOString()}">${formats.day(at)}, ${at.toISOString().slice(11, 19)}</time>`;
  const key = ({ first: { key, call } }: ActivityCall): HtmlValue => {
    if (key === null) return call === null ? '–' : messages.dashboard;
    return html`<a class="cut" href="${tools.base}/keys/${key}">${names.get(key) ?? key}</a>`;
  };
  const credits = ({ first, rows }: ActivityCall) =>
    first.call !== null &&
    html`<strong>${formats.number(rows.reduce((sum, { credits }) => sum + credits, 0))}</strong>`;
  const request = ({ first: { request, call } }: ActivityCall) =>
    request !== null &&
    html`<code class="cut" title="${request === call ? request : `${request} (${call})`}">${request}</code>`;
  return [
    [messages.timeUtc, when],
    [messages.outcome, (call) => outcomeOf(context, call)],
    [messages.endpoint, ({ first: { endpoint } }) => endpoint !== null && html`<code>${endpoint}</code>`],
    [messages.key, key],
    [messages.credits, credits, 'amount'],
    [messages.requestId, request],
  ];
}

/** The outcome of a call: each of its problems, with its page, or what has become of its credits. */
function outcomeOf(context: MemberContext, { first, rows }: ActivityCall): HtmlValue {
  const { messages, formats } = context;
  if (first.unlisted !== null) return messages.activityMore(formats.number(first.unlisted));
  const answers = rows.filter(({ kind }) => kind === 'answer');
  const problems = answers.filter(({ problem }) => problem !== null);
  // One element, because on a phone the cell has its label beside it.
  if (problems.length > 0)
    return html`<div>${problems.map((row) => html`${problemOf(context, row)} `)}</div>`;
  if (answers.length > 0) return messages.activityRepeated;
  return rows.some(({ kind }) => kind === 'return') ? messages.activityReturned : messages.activityCharged;
}

/** The problem of an answer, or of an item of it, with its page and why. */
function problemOf({ messages, tools }: MemberContext, { status, problem, reason }: ActivityRow): Html {
  const isRefusal = status === 429 || status === 401 || status === 403;
  const text = status === 200 ? messages.ofItem(problem!) : `${status} ${problem}`;
  const link = html`<a${isRefusal && html` class="refusal"`} href="${tools.root}/problems/${problem}">${text}</a>`;
  // A newer version may have named it.
  return reason === null || !(reason in REASONS)
    ? link
    : html`${link} <p class="hint">${prose(reasonText(reason as Reason, messages.language))}</p>`;
}

/** Problems that the overview shows, of this time. */
const LATEST = 5;
const LATEST_MS = 1 * DAY;

/** The latest problems of a day, for the overview; nothing without any. */
export async function latestProblems(context: MemberContext): Promise<HtmlValue> {
  const { messages, tools, account } = context;
  if (tools.config.activityDays === 0) return null;
  const filter = { problems: true, from: new Date(Date.now() - LATEST_MS) };
  const rows = await listActivity(tools.sql, account.id, filter, { order: 'DESC', rows: LATEST });
  if (rows.length === 0) return null;
  const ids = rows.map(({ key }) => key);
  const columns: Column<ActivityCall>[] = columnsOf(context, await namesOf(context, ids)).filter(
    ([heading]) => heading !== messages.credits,
  );
  return html`
<section class="card" id="problems" aria-labelledby="problems-title">
  <div class="heading">
    <h2 id="problems-title">${messages.latestProblems}</h2>
    <a href="${tools.base}/activity?problems=yes">${messages.activityOf}</a>
  </div>
  ${table(
    columns,
    rows.map((row) => ({ first: row, rows: [row] })),
    'activity',
  )}
</section>`;
}
