import { RIGHT_GROUPS, RIGHTS, type Right } from '../../http/right.ts';
import type { ApiKey } from '../../metering/keys/key-store.ts';
import {
  BUDGET_PERIODS,
  type BudgetPeriod,
  budgetCreditsLeft,
  type KeyLimits,
  MAX_BUDGET,
  UNLIMITED,
} from '../../metering/keys/limits.ts';
import { MAX_REQUESTS_PER_MINUTE } from '../../metering/rate-limit/bucket.ts';
import { isRealDate, utcDay } from '../../platform/dates.ts';
import { DAY } from '../../platform/units.ts';
import type { MemberContext } from '../context.ts';
import { type Field, type Form, faultsOf, type Refusal, refusalOf, refuse } from '../request/forms.ts';
import { type Fact, type HtmlValue, html } from '../ui/html.ts';

const GROUPS = Object.keys(RIGHT_GROUPS) as (keyof typeof RIGHT_GROUPS)[];

/** The names of the checkboxes of a right, and of a group of rights. */
const boxOf = (right: Right) => `only-${right}`;
const groupBoxOf = (group: string) => `group-${group}`;

/** The fields of a key's budget, rights and share of the rate. @param key that has them already, or is to have them */
function limitFields(
  { messages }: Pick<MemberContext, 'messages'>,
  key: (KeyLimits & { test?: boolean }) | null,
): Field[] {
  const { budget, only, requests_per_minute } = key ?? UNLIMITED;
  const has = (right: Right) => only?.includes(right) ?? false;
  const isWhole = (group: (typeof GROUPS)[number]) => RIGHT_GROUPS[group].every(has);
  const whole = new Set<Right>(GROUPS.filter(isWhole).flatMap((group) => RIGHT_GROUPS[group]));
  const rights: Field = {
    name: 'only',
    label: messages.keyRights,
    hint: messages.keyRightsHint,
    boxes: GROUPS.map((group) => [groupBoxOf(group), messages.rightGroups[group], isWhole(group)]),
  };
  const single: Field = {
    name: 'single',
    label: messages.singleRights,
    boxes: RIGHTS.map((right) => [boxOf(right), messages.rights[right], has(right) && !whole.has(right)]),
    isFolded: true,
  };
  const share: Field = {
    name: 'per-minute',
    label: messages.requestsPerMinute,
    hint: messages.keyShareHint,
    inputMode: 'numeric',
    maxLength: String(MAX_REQUESTS_PER_MINUTE).length,
    optional: true,
    value: String(requests_per_minute ?? ''),
  };
  if (key?.test === true) return [share, rights, single];
  return [
    {
      name: 'credits',
      label: messages.keyBudget,
      hint: messages.keyBudgetHint,
      inputMode: 'numeric',
      maxLength: String(MAX_BUDGET).length,
      optional: true,
      value: budget === null ? '' : String(budget.credits),
    },
    {
      name: 'per',
      label: messages.keyBudgetPer,
      options: BUDGET_PERIODS.map((per) => [per, messages.budgetPeriods[per]]),
      value: budget?.per ?? 'day',
    },
    share,
    rights,
    single,
  ];
}

/** The rights that a sent form names, alone or by their group. */
function sentRights(sent: MemberContext['sent']): Right[] {
  const groups = GROUPS.filter((group) => sent(groupBoxOf(group)) === 'yes');
  const ofGroups = new Set<Right>(groups.flatMap((group) => RIGHT_GROUPS[group]));
  return RIGHTS.filter((right) => ofGroups.has(right) || sent(boxOf(right)) === 'yes');
}

/** The limits of a sent form; the faults of its numbers. No right, or every one, means all rights. */
function sentLimits({
  sent,
  messages,
  formats,
}: MemberContext): KeyLimits | { faults: { [field: string]: string } } {
  const [credits, share] = [sent('credits').trim(), sent('per-minute').trim()];
  const per = BUDGET_PERIODS.find((period) => period === sent('per')) ?? 'day';
  const only = sentRights(sent);
  const isNumber = (text: string, min: number, max: number) =>
    /^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max;
  const invalid = (min: number, max: number) =>
    messages.numberInvalid(formats.number(min), formats.number(max));
  if (credits !== '' && !isNumber(credits, 0, MAX_BUDGET))
    return { faults: { credits: invalid(0, MAX_BUDGET) } };
  if (share !== '' && !isNumber(share, 1, MAX_REQUESTS_PER_MINUTE))
    return { faults: { 'per-minute': invalid(1, MAX_REQUESTS_PER_MINUTE) } };
  return {
    budget: credits === '' ? null : { credits: Number(credits), per },
    only: only.length === 0 || only.length === RIGHTS.length ? null : only,
    requests_per_minute: share === '' ? null : Number(share),
  };
}

/** {@link limitFields} of a connection, which always has a budget and named rights. */
export function connectionFields({ messages }: Pick<MemberContext, 'messages'>, limits: KeyLimits): Field[] {
  const changed: Record<string, Partial<Field>> = {
    credits: { hint: messages.connectBudgetHint, optional: false },
    only: { hint: messages.connectRightsHint },
  };
  return limitFields({ messages }, limits).map((field) => ({ ...field, ...changed[field.name] }));
}

/** The limits of a sent form for a connection. Its rights are named, so that what comes later is closed to it. */
export function sentConnectionLimits(context: MemberContext): KeyLimits | Refusal {
  const { messages } = context;
  const sent = sentLimits(context);
  if ('faults' in sent) return refuse(422, sent);
  const only = sentRights(context.sent);
  if (sent.budget === null) return refuse(422, { faults: { credits: messages.connectBudgetMissing } });
  if (only.length === 0) return refuse(422, { message: messages.connectRightsMissing });
  return { ...sent, only };
}

/**
 * The fields of a key: its name, and folded its last day and its limits. Those of a connection are open, and its last day is its client's.
 * @param key `null` for a new one; @param typed its texts before the form is sent
 */
export function keyFields(
  { messages }: Pick<MemberContext, 'messages'>,
  key: ApiKey | null,
  typed = (_name: string) => '',
): Pick<Form, 'fields' | 'folded'> {
  const { validUntil, expiryHint, keyNameHint, limitKey } = messages;
  const name = { name: 'name', label: messages.name, hint: keyNameHint, value: key?.name ?? typed('name') };
  if (key?.connection) return { fields: [name, ...connectionFields({ messages }, key)] };
  const value = key ? lastDay(key) : typed('expires');
  const last = {
    name: 'expires',
    label: validUntil,
    type: 'date',
    optional: true,
    hint: expiryHint,
    value,
  } as const;
  return {
    fields: [name],
    folded: { label: limitKey, fields: [last, ...limitFields({ messages }, key)] },
  };
}

/** The day, YYYY-MM-DD, at whose end a key ends; '' if it does not end. */
const lastDay = ({ expires }: Pick<ApiKey, 'expires'>): string =>
  expires === null ? '' : utcDay(expires.getTime() - 1);

/** The values of a sent form of {@link keyFields}; its refusal if they have faults. @param key whose form it is; `null` for a new one */
export function sentKey(
  context: MemberContext,
  key: ApiKey | null,
): { name: string; expires: Date | null; limits: KeyLimits } | Refusal {
  const { messages, sent } = context;
  const day = sent('expires').trim();
  const isSameDay = key !== null && (key.connection || day === lastDay(key));
  const expires = isSameDay ? key.expires : day === '' ? null : endOfDay(day);
  const limits = key?.connection ? sentConnectionLimits(context) : sentLimits(context);
  if ('refused' in limits) return limits;
  const refusal = refusalOf({
    ...faultsOf(context, ['name']),
    expires: expires === undefined && messages.keyExpiryInvalid,
    ...('faults' in limits && limits.faults),
  });
  if (expires === undefined || 'faults' in limits || refusal !== null) return refusal!;
  return { name: sent('name').trim(), expires, limits };
}

/** The end of a day in UTC; `undefined` when it is no day, or not in the future. */
function endOfDay(day: string): Date | undefined {
  if (!isRealDate(day)) return undefined;
  const end = new Date(Date.parse(`${day}T00:00:00Z`) + DAY);
  return end.getTime() > Date.now() ? end : undefined;
}

/** The limits of a key, as its page shows them; none for a key without limits. */
export function limitFacts(context: MemberContext, key: ApiKey): Fact[] {
  const { messages, formats } = context;
  const { budget, only, requests_per_minute } = key;
  const renewed = budget?.resets && messages.budgetResets(formats.instant(new Date(budget.resets)));
  const all: [limit: unknown, ...Fact][] = [
    [budget, messages.keyBudget, html`${budgetLeft(context, key)}. ${renewed}`],
    [requests_per_minute, messages.requestsPerMinute, formats.number(requests_per_minute ?? 0)],
    [
      only,
      messages.keyRights,
      only?.map((right) => html`<span class="badge">${messages.rights[right]}</span> `),
    ],
  ];
  return all.flatMap(([limit, ...fact]) => (limit === null ? [] : [fact]));
}

/** The budget of a key in a list: what is left of it. */
export function budgetLeft({ messages, formats }: MemberContext, { budget }: ApiKey): HtmlValue {
  if (budget === null) return '–';
  const left = formats.number(budgetCreditsLeft(budget));
  return messages.budgetLeft[budget.per satisfies BudgetPeriod](left, formats.number(budget.credits));
}
