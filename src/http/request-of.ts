import type { TProperties } from '@sinclair/typebox';
import { type ApiRoute, BASE_PATH, methodOf } from './api-route.ts';

/**
 * The request of a call inside this process. Its route reads it as it reads a request from a client.
 *
 * @param input the members of the route's path, query and body, from a sender that is not trusted: any other member is left out
 * @param headers further headers that the call needs: `Authorization`
 * @param signal aborted when the client disconnects
 */
export function requestOf(
  route: ApiRoute,
  input: Record<string, unknown>,
  headers: Record<string, string>,
  signal: AbortSignal,
): Request {
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(textOf(input[name])));
  const query = new URLSearchParams();
  for (const name of Object.keys(route.query?.properties ?? {})) {
    if (input[name] !== undefined) query.set(name, textOf(input[name]));
  }
  const address = `http://service${BASE_PATH}${path}${query.size === 0 ? '' : `?${query}`}`;
  if (route.body === undefined) return new Request(address, { method: methodOf(route), headers, signal });
  return new Request(address, {
    method: methodOf(route),
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(input),
    signal,
  });
}

/** The schemas of a call's input by their names: those of the route's path, query and body. */
export function inputOf({ params, query, body }: ApiRoute): TProperties {
  return { ...params?.properties, ...query?.properties, ...body?.properties };
}

/** A parameter as it is written in an address. A value that can't be written there becomes empty, and so not valid. */
function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).toWellFormed() : '';
}
