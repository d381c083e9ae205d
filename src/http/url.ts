/**
 * The path of a request's address, still escaped, without its query. Not by `new URL`: the address has the caller's Host in
 * it, which can be anything.
 */
export function pathOf(url: string): string {
  const [address = ''] = url.split('?', 1);
  const path = address.indexOf('/', address.indexOf('://') + 3);
  return path === -1 ? '/' : address.slice(path);
}
