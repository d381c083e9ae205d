import { utcDay } from '../../platform/dates.ts';
import { DAY } from '../../platform/units.ts';
import { type Html, html } from '../ui/html.ts';
import type { Formats } from '../ui/language.ts';
import { dateOf } from '../ui/parts.ts';
import { type Days, dayAfter, monthOf } from './range.ts';

/** The most days with a bar each, and the most that weeks have. A longer range has a bar a month. */
const MAX_DAYS = 92;
const MAX_DAYS_OF_WEEKS = 190;

/** A bar of the plot and a row of its table: a day, a week from Monday on, or a month, as far as the range has it. */
export interface Slot extends Days {
  /** Its name as text, and in a table. */
  name: string;
  heading: Html;
  /** Its name below the bar. */
  axis: string;
}

/** The slots of a range, oldest first. */
export function slotsOf({ from, to }: Days, formats: Formats): Slot[] {
  const count = daysBetween(from, to) + 1;
  const endOf = count <= MAX_DAYS ? (day: string) => day : count <= MAX_DAYS_OF_WEEKS ? sundayOf : endOfMonth;
  const slots: Slot[] = [];
  for (let day = from; day <= to; day = dayAfter(slots.at(-1)!.to)) {
    const end = endOf(day);
    slots.push(slotOf({ from: day, to: end < to ? end : to }, endOf === endOfMonth, formats));
  }
  return slots;
}

function slotOf(days: Days, isMonth: boolean, formats: Formats): Slot {
  const [first, last] = [new Date(days.from), new Date(days.to)];
  if (isMonth) {
    const name = formats.month(first);
    return { ...days, name, heading: html`${name}`, axis: formats.shortMonth(first) };
  }
  const axis = formats.day(first);
  if (days.from === days.to)
    return { ...days, name: formats.date(first), heading: dateOf(formats, days.from), axis };
  const name = `${axis} – ${formats.date(last)}`;
  return { ...days, name, heading: html`${name}`, axis };
}

const daysBetween = (from: string, to: string) => Math.round((Date.parse(to) - Date.parse(from)) / DAY);
const endOfMonth = (day: string) => monthOf(day).to;

function sundayOf(day: string): string {
  const at = new Date(day);
  return utcDay(at.getTime() + ((7 - at.getUTCDay()) % 7) * DAY);
}
