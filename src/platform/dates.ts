/** The UTC day of an instant, YYYY-MM-DD. @param at a number is milliseconds since 1970 */
export const utcDay = (at: Date | number): string => new Date(at).toISOString().slice(0, 10);

/** Whether YYYY-MM-DD is a day of the calendar. `new Date` reads 31 February as 3 March, and Postgres has no year 0. */
export function isRealDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
