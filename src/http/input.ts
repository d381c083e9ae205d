/** The input of a call: the members of its route's path, query and body. Each face of the service reads it in its own way. */
import type { TProperties } from '@sinclair/typebox';
import { type ApiRoute, BASE_PATH } from './api-route.ts';
import { pathBehind, searchOf } from './url.ts';

export type Input = Record<string, unknown>;

/** The schemas of a call's input by their names. */
export function inputOf({ params, query, body }: ApiRoute): TProperties {
  return { ...params?.properties, ...query?.properties, ...body?.properties };
}

/** The input of a route that the reference shows. */
export function exampleOf({ params, query, body }: ApiRoute): Input {
  const parameters = Object.entries({ ...params?.properties, ...query?.properties });
  const values = parameters.map(([name, { examples }]) => [name, examples[0]]);
  return { ...Object.fromEntries(values), ...body?.examples[0] };
}

/**
 * Reads the input of a route without a body from the address of a request. A parameter is absent if the address lacks it; of
 * several values in a query the first counts. Malformed escapes stay as they are, so such a NIF is not valid, and a search for
 * them finds nothing.
 */
export function createAddressReader({ path, params, query }: ApiRoute): (url: string) => Input {
  if (params !== undefined) {
    const [name] = Object.keys(params.properties) as [string];
    const before = `${BASE_PATH}${path.slice(0, path.indexOf(':'))}`;
    return (url) => ({ [name]: unescaped(pathBehind(before, url)) });
  }
  // By `q` a test key calls up a problem of a route that takes no other input (docs/test-keys.md: test keys).
  const names = new Set(['q', ...Object.keys(query?.properties ?? {})]);
  return (url) => {
    const values = new URLSearchParams(searchOf(url));
    const input: Input = {};
    for (const name of names) if (values.has(name)) input[name] = values.get(name);
    return input;
  };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
