/**
 * A small data provider in nif.pt's format, for the demo. It answers for the companies of the example directory with their
 * names, and leaves all other members empty rather than invent them.
 *
 * @param names legal names by NIF
 */
export function startExampleProvider(names: Map<string, string>) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const nif = new URL(request.url).searchParams.get('q') ?? '';
      const name = names.get(nif);
      if (name === undefined) return Response.json({ result: 'error', message: 'No records found' });
      return Response.json({
        result: 'success',
        records: { [nif]: { nif: Number(nif), title: name } },
        nif_validation: true,
        is_nif: true,
        credits: { used: 'free', left: [] },
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/`, stop: () => server.stop(true) };
}
