import { endpointOf } from '../../http/api-route.ts';
import { ERROR_KINDS } from '../../http/error-kind.ts';
import { TOOLS } from '../../mcp/tools.ts';
import {
  type ActivityFilter,
  type ActivityRow,
  listActivity,
  ROW_KINDS,
} from '../../metering/activity/store.ts';
import { keysToChoose, type NamedKey, namedKeys } from '../../metering/keys/list.ts';
import { isRealDate } from '../../platform/dates.ts';
import { keyName } from '../keys/key-parts.ts';
import type { MemberContext } from '../page-context.ts';
import type { PageResponse } from '../request/context.ts';
import { field } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { type Column, table } from '../ui/parts.ts';
import { pageLinks } from '../usage/paging.ts';

/** Rows of a page. */
const ROWS = 100;
/** The key of calls that were made in the dashboard, in the address. */
const DASHBOARD = 'dashboard';

/** Names of keys by their ids. */
type Names = Map<string, string>;

const OUTCOMES = [...ROW_KINDS, ...ERROR_KINDS];

/** The choices of the page, from its address. */
interface View {
  key: string;
  endpoint: string;
  outcome: (typeof OUTCOMES)[number] | '';
  day: string;
}

/** GET /dashboard/activity: every call that cost credits, gave some back, or was a problem, the latest first. */
export async function showActivity(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, account, url } = context;
  const { activityDays } = tools.config;
  if (activityDays === 0)
    return activityPage(context, html`<p class="card empty">${messages.activityOff}</p>`);
  const endpoints = endpointsOf(context);
  const view = viewOf(url, endpoints);
  const before = Number(/^\d{1,16}$/.exec(url.searchParams.get('before') ?? '')?.[0] ?? Number.NaN);
  const behind = Number.isSafeInteger(before) ? before : undefined;
  // One further row shows that there are more.
  const [found, choices] = await Promise.all([
    listActivity(tools.sql, account.id, filterOf(view), { order: 'DESC', behind, rows: ROWS + 1 }),
    keysToChoose(tools.sql, account.id),
  ]);
  const rows = found.slice(0, ROWS);
  const names = await namesOf(context, choices, [view.key, ...rows.map(({ key }) => key ?? '')]);
  const last = found.length > ROWS ? rows.at(-1)!.number : null;
  const isFiltered = Object.values(view).some((value) => value !== '');
  const none = isFiltered ? messages.activityNone : messages.activityEmpty;
  return activityPage(
    context,
    html`
${filterForm(context, view, endpoints, optionsOf(context, choices, view.key, names))}
${rows.length === 0 ? html`<p class="card empty" role="status">${none}</p>` : html`<div class="card list">${table(columnsOf(context, names), rows, 'activity')}</div>`}
${pageLinks(context, '/activity', behind !== undefined, last, { ...view })}`,
  );
}

function activityPage(context: MemberContext, content: Html): Promise<PageResponse> {
  const { messages, formats, tools } = context;
  const body = html`
<h1>${messages.activityTitle}</h1>
<p class="lead">${messages.activityLead(formats.number(tools.config.activityDays))}</p>
${content}`;
  return memberPage(context, { title: messages.activityTitle, body });
}

/** Every endpoint and tool that this service has. */
const endpointsOf = ({ tools }: MemberContext) =>
  [...tools.handlers.keys()]
    .map(endpointOf)
    .concat([...TOOLS.values()].filter(({ route }) => tools.handlers.has(route)).map(({ name }) => name));

function viewOf({ searchParams }: URL, endpoints: string[]): View {
  const value = (name: string) => searchParams.get(name) ?? '';
  return {
    key: /^(?:key_[a-z0-9]{1,40}|dashboard)$/.exec(value('key'))?.[0] ?? '',
    endpoint: endpoints.find((endpoint) => endpoint === value('endpoint')) ?? '',
    outcome: OUTCOMES.find((outcome) => outcome === value('outcome')) ?? '',
    day: isRealDate(value('day')) ? value('day') : '',
  };
}

const filterOf = ({ key, endpoint, outcome, day }: View): ActivityFilter => ({
  key: key === '' ? undefined : key === DASHBOARD ? '' : key,
  endpoint: endpoint || undefined,
  outcome: outcome || undefined,
  day: day || undefined,
});

/** The names of the known keys and of further ones of the account, by id. @param ids '' means none, or the dashboard */
async function namesOf(
  { tools, account, messages }: MemberContext,
  known: NamedKey[],
  ids: string[],
): Promise<Names> {
  const names: Names = new Map(known.map((key) => [key.id, keyName(key, messages)]));
  const further = [...new Set(ids)].filter((id) => id !== '' && id !== DASHBOARD && !names.has(id));
  const keys = further.length === 0 ? [] : await namedKeys(tools.sql, account.id, further);
  for (const key of keys) names.set(key.id, keyName(key, messages));
  return names;
}

/** The keys that the filter offers. A link of another page can choose any key. */
function optionsOf({ messages }: MemberContext, choices: NamedKey[], chosen: string, names: Names): Names {
  const options = new Map([[DASHBOARD, messages.dashboard]]);
  for (const { id } of choices) options.set(id, names.get(id)!);
  if (chosen !== '' && !options.has(chosen)) options.set(chosen, names.get(chosen) ?? chosen);
  return options;
}

function filterForm(
  { messages, tools }: MemberContext,
  { key, endpoint, outcome, day }: View,
  endpoints: string[],
  keys: Names,
): Html {
  const all: [string, string] = ['', messages.all];
  const outcomes = OUTCOMES.map((name): [string, string] => [name, outcomeName(messages, name)]);
  return html`
<form class="inline filter calls" method="get" action="${tools.base}/activity" role="search">
  ${field({ name: 'key', label: messages.key, options: [all, ...keys], value: key })}
  ${field({ name: 'endpoint', label: messages.endpoint, options: [all, ...endpoints.map((name): [string, string] => [name, name])], value: endpoint })}
  ${field({ name: 'outcome', label: messages.outcome, options: [all, ...outcomes], value: outcome })}
  ${field({ name: 'day', label: messages.day, type: 'date', value: day, optional: true })}
  <button class="quiet" type="submit">${messages.filter}</button>
</form>`;
}

const isRowKind = (name: string): name is (typeof ROW_KINDS)[number] =>
  (ROW_KINDS as readonly string[]).includes(name);

const outcomeName = (messages: MemberContext['messages'], name: (typeof OUTCOMES)[number]) =>
  isRowKind(name) ? messages.rowKinds[name] : messages.errorKinds[name];

function columnsOf(context: MemberContext, names: Names): Column<ActivityRow>[] {
  const { messages, formats, tools } = context;
  const when = ({ at }: ActivityRow) =>
    html`<time datetime="${at.toISOString()}">${formats.day(at)}, ${at.toISOString().slice(11, 19)}</time>`;
  const key = ({ key, call }: ActivityRow): HtmlValue => {
    if (key === null) return call === null ? '–' : messages.dashboard;
    return html`<a class="cut" href="${tools.base}/keys/${key}">${names.get(key) ?? key}</a>`;
  };
  const request = ({ request, call }: ActivityRow) =>
    request !== null &&
    html`<code class="cut" title="${request === call ? request : `${request} (${call})`}">${request}</code>`;
  return [
    [messages.timeUtc, when],
    [messages.outcome, (row) => outcomeOf(context, row)],
    [messages.endpoint, ({ endpoint }) => endpoint !== null && html`<code>${endpoint}</code>`],
    [messages.key, key],
    [
      messages.credits,
      ({ kind, credits }) => kind !== 'answer' && html`<strong>${formats.number(credits)}</strong>`,
      'amount',
    ],
    [messages.requestId, request],
  ];
}

/** The outcome in a row: a charge, credits that came back, or the problem of an answer, with its page. */
function outcomeOf({ messages, formats, tools }: MemberContext, row: ActivityRow): HtmlValue {
  const { kind, status, problem, unlisted } = row;
  if (unlisted !== null) return messages.activityMore(formats.number(unlisted));
  if (kind !== 'answer') return messages.rowKinds[kind];
  if (problem === null) return messages.activityRepeated;
  const isRefusal = status === 429 || status === 401 || status === 403;
  return html`<a${isRefusal && html` class="refusal"`} href="${tools.root}/problems/${problem}">${status} ${problem}</a>`;
}
