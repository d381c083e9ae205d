/** The range of the plot, the tables and the CSV: the last days with today, or the running period. */
export type Range = 7 | 30 | 90 | 'period';

export const RANGES: Range[] = [7, 30, 90, 'period'];
/** The range that an address asks for with `?days=`; 90 days otherwise. */
export function rangeOf(url: URL): Range {
  return RANGES.find((range) => String(range) === url.searchParams.get('days')) ?? 90;
}
