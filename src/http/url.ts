/**
 * The path of a request's address, still escaped, without its query. `new URL` could throw, because the address holds the
 * caller's Host, which can be any text.
 */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  const address = query === -1 ? url : url.slice(0, query);
  const path = address.indexOf('/', address.indexOf('://') + 3);
  return path === -1 ? '/' : address.slice(path);
}

/** Everything behind the route in a path. The path may have more in front of the route, because PUBLIC_URL may have a path. */
export function pathBehind(route: string, url: string): string {
  const path = pathOf(url);
  return path.slice(path.indexOf(route) + route.length);
}

/** The query of a request's address with its `?`, or an empty text. */
export function searchOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start);
}
