/** `name` as an SQL identifier, for statements whose table is known at run time only. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
