/**
 * The path of a request's address, still escaped, without its query. Not by `new URL`: the address has the caller's Host in
 * it, which can be anything. Where it can't be a host, Bun's address is the path alone.
 */
export function pathOf(url: string): string {
  const [address = ''] = url.split('?', 1);
  if (address.startsWith('/')) return address;
  const path = address.indexOf('/', address.indexOf('://') + 3);
  return path === -1 ? '/' : address.slice(path);
}

/**
 * What follows the route's own part of a path: all of it, not the last segment, because a `\` is no end of a segment to the
 * router, and a `/` in the address. More can be in front, as PUBLIC_URL may have a path.
 */
export function pathBehind(route: string, url: string): string {
  const path = pathOf(url);
  return path.slice(path.indexOf(route) + route.length);
}

/** The query of a request's address, with its `?`; empty where there is none. */
export function searchOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start);
}
