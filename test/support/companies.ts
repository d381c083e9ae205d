/** The n-th NIF that begins with 5, with its check digit. */
export function nif(n: number): string {
  const digits = String(50_000_000 + n);
  let sum = 0;
  for (let i = 0; i < 8; i++) sum += Number(digits[i]) * (9 - i);
  const remainder = sum % 11;
  return digits + (remainder < 2 ? 0 : 11 - remainder);
}

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
