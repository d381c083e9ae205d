/** A provider's base address (with or without a path, a slash at its end, a query) with a path added. */
export function urlUnder(base: string, path: string): URL {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/\/+$/, '') + path;
  return url;
}
