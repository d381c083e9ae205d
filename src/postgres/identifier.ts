/** `name` as an SQL identifier, for statements whose tables are only known when they run. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
