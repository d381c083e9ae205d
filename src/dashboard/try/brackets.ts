import type { PageContext } from '../context.ts';

/** A bracket of debt in words: `7,500 € to 25,000 €`. */
export function bracketText(
  { messages, formats }: PageContext,
  { start, end }: { start: number; end: number | null },
): string {
  const amount = (euros: number) => `${formats.number(euros)} €`;
  return end === null ? messages.openBracket(amount(start)) : messages.bracket(amount(start), amount(end));
}
