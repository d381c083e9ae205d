import { nifOf as nif } from '../../bench/lib/names.ts';

/** The n-th NIF that begins with 5, with its check digit. */
export { nif };

/** A CSV of companies `from` to `to` (exclusive), each named by `name`. */
export function csv(
  from: number,
  to: number,
  name: (n: number) => string = (n) => `Empresa ${String(n).padStart(6, '0')}`,
): string {
  let text = 'nif,legal_name\n';
  for (let n = from; n < to; n++) text += `${nif(n)},"${name(n).replaceAll('"', '""')}"\n`;
  return text;
}
