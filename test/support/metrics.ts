/** The series of a service's `/metrics`, by their names with labels. */
export async function readMetrics({ baseUrl }: { baseUrl: string }): Promise<Record<string, number>> {
  const scrape = await (await fetch(`${baseUrl}/metrics`)).text();
  const lines = scrape.matchAll(/^([^#\n]+) (\S+)$/gm);
  return Object.fromEntries([...lines].map(([, series, value]) => [series!, Number(value)]));
}
