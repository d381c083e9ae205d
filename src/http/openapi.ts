import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import {
  type ApiRoute,
  BASE_PATH,
  CREDITS_HEADER,
  costOf,
  IDEMPOTENCY_KEY,
  methodOf,
  ProblemSchema,
  problemsOf,
  statusesOf,
  TEST_KEY_HEADER,
  templateOf,
} from './api-route.ts';
import { PROBLEM_CONTENT_TYPE, PROBLEMS, type ProblemName, problemBody } from './problems.ts';
import { permits, RIGHT_GROUPS } from './right.ts';

/** Headers of every answer to a known caller. */
const CALLER_HEADERS: Record<string, string> = {
  [CREDITS_HEADER]:
    'Credits that this request was charged, less those refunded: 0 for a refusal, a 503, a repetition and a test key.',
  'RateLimit-Limit': 'Bucket capacity and refill rate, requests per minute.',
  'RateLimit-Remaining': 'Whole tokens remaining after the admission attempt.',
  'RateLimit-Reset': 'Unix time in seconds when at least one token is available.',
  'RateLimit-Policy': 'The policy as `<limit>;w=60`.',
};
const COMMON_HEADERS: Record<string, string> = { 'X-Request-Id': 'Names this request in the log.' };
const OPTIONAL_HEADERS: Record<string, string> = {
  [TEST_KEY_HEADER]:
    '`true` if the key is a test key: the answer is about invented companies, and has cost nothing.',
};

/** Headers that hold a whole number; all others are text. */
const NUMBERS = [CREDITS_HEADER, 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After'];

/** Problems that may be answered before a token was taken (src/metering/admission/pipeline.ts), and when. No bucket is reported then. */
const WITHOUT_TOKEN: Partial<Record<ProblemName, string>> = {
  'authentication-failed': 'for `authentication-failed`',
  'service-unavailable': 'if an overloaded service took no token',
};

type Json = Record<string, unknown>;

export type OpenApi = ReturnType<typeof createOpenApi>;
export type Operation = ReturnType<typeof describeRoute>;

interface DocumentedAnswer {
  description: string;
  headers: Record<string, { description: string; schema: Schema }>;
  content: Record<string, { schema: Schema; example?: unknown; examples?: Json }>;
}

export interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  format?: string;
  description?: string;
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
}

/**
 * The OpenAPI 3.1 document of the service, made from its routes.
 *
 * @param examples the routes, and the body of a 200 of each
 * @param contact a `mailto:` or `https:` address; `null` means that the operator has set none
 * @elysiajs/openapi would not help: most of this file says which problem kinds share a status, and which headers each has.
 */
export function createOpenApi(
  publicUrl: string,
  examples: ReadonlyMap<ApiRoute, unknown>,
  contact: string | null = null,
) {
  const schemas: Record<string, Schema> = {};
  const paths: Record<string, Record<string, Operation>> = {};
  for (const [route, example] of examples) {
    paths[templateOf(route.path)] = {
      ...paths[templateOf(route.path)],
      [methodOf(route).toLowerCase()]: describeRoute(publicUrl, route, schemas, example),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Company Directory API',
      version: '1',
      description:
        'Searches Portuguese companies by name or NIF, gives the details of one or of several, screens lists of them for debts, and reports the usage of an account. Agents call the same as tools of the Model Context Protocol, at `/mcp`. With a test key (`svc_test_…`) everything answers from a fixed set of invented companies, costs no credit, and gives each problem at will.',
      license: { name: 'MIT', identifier: 'MIT' },
      ...(contact !== null && { contact: contactOf(new URL(contact)) }),
    },
    servers: [{ url: publicUrl + BASE_PATH }],
    security: [{ apiKey: [] }],
    tags: TAGS.map((name) => ({ name })),
    paths,
    components: {
      schemas,
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, with its `svc_` prefix.' },
      },
    },
  };
}

const contactOf = ({ protocol, pathname, href }: URL) =>
  protocol === 'mailto:' ? { email: decodeURIComponent(pathname) } : { url: href };

/** Generators make a class of each. */
const TAGS = Object.keys(RIGHT_GROUPS) as (keyof typeof RIGHT_GROUPS)[];

/** A route that is open to every key is about the account. */
const tagOf = ({ right }: ApiRoute) =>
  TAGS.find((tag) => right !== null && permits([...RIGHT_GROUPS[tag]], right)) ?? 'account';

function describeRoute(
  publicUrl: string,
  route: ApiRoute,
  schemas: Record<string, Schema>,
  example: unknown,
) {
  const kinds = problemsOf(route);
  const responses: Record<string, DocumentedAnswer> = {
    200: {
      description: 'Success.',
      headers: {
        ...headersOf({ ...COMMON_HEADERS, ...CALLER_HEADERS, ...route.successHeaders }),
        ...headersOf({ ...OPTIONAL_HEADERS, ...route.optionalHeaders }, { required: false }),
      },
      content: {
        'application/json': {
          schema: reference(route.success, schemas),
          example,
        },
      },
    },
  };
  for (const status of statusesOf(route)) {
    const here = kinds.filter((kind) => PROBLEMS[kind].status === status);
    responses[status] = {
      description: here.map((kind) => `\`${kind}\`: ${causeOf(route, kind)}`).join('\n\n'),
      headers: {
        ...headersOf({
          ...COMMON_HEADERS,
          ...callerHeadersOf(here),
          ...(status === 429 || status === 503 ? { 'Retry-After': 'Seconds to wait.' } : {}),
          ...(status === 401 ? { 'WWW-Authenticate': 'Always `Bearer`.' } : {}),
        }),
        ...headersOf(status === 401 ? {} : OPTIONAL_HEADERS, { required: false }),
      },
      content: {
        [PROBLEM_CONTENT_TYPE]: {
          schema: reference(ProblemSchema, schemas),
          examples: Object.fromEntries(
            here.map((kind) => [
              kind,
              { value: { ...problemBody(publicUrl, { kind }), ...EXAMPLE_MEMBERS[kind] } },
            ]),
          ),
        },
      },
    };
  }
  const { operationId, summary, description, pt } = route.detail;
  return {
    tags: [tagOf(route)],
    operationId,
    summary,
    description: `${description}\n\nCosts ${costOf(route)}.`,
    'x-cost': costOf(route),
    'x-pt': pt,
    parameters: parametersOf(route),
    ...(route.body !== undefined && {
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: reference(route.body, schemas), example: route.body.examples[0] },
        },
      },
    }),
    responses,
  };
}

const HEADERS = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      description:
        '1 to 64 letters, digits, `_` and `-`. A request with the same account, key, path and body within ten minutes is answered again, and what was charged before is free. Another body is another request.',
      pattern: IDEMPOTENCY_KEY,
      examples: ['suppliers-2026-11-23'],
    }),
  ),
});

/** The schema of a parameter has a description and an example. */
function parametersOf({ params, query, body }: ApiRoute) {
  const of = (place: 'path' | 'query' | 'header', object: TObject | undefined) =>
    Object.entries(object?.properties ?? {}).map(([name, { description, examples, ...schema }]) => ({
      name,
      in: place,
      required: object!.required?.includes(name) ?? false,
      description: description!,
      schema,
      example: examples[0] as string,
    }));
  const headers = body === undefined ? undefined : HEADERS;
  return [...of('path', params), ...of('query', query), ...of('header', headers)];
}

/** The headers of a known caller in a status with these kinds, and when they are absent. Empty if they always are. */
function callerHeadersOf(kinds: ProblemName[]): Record<string, string> {
  if (kinds.includes('unauthorized')) return {};
  const absent = kinds.flatMap((kind) => WITHOUT_TOKEN[kind] ?? []).join(' and ');
  if (absent === '') return CALLER_HEADERS;
  return Object.fromEntries(
    Object.entries(CALLER_HEADERS).map(([name, description]) => [name, `${description} Absent ${absent}.`]),
  );
}

/** The cause of a problem at an endpoint. */
function causeOf({ body, invalid }: ApiRoute, kind: ProblemName): string {
  if (kind !== 'validation') return PROBLEMS[kind].cause;
  if (body === undefined) return invalid!;
  const members = Object.keys(body.properties).map((name) => `\`${name}\``);
  const inBody = `The body is not JSON with ${members.join(', ')} as the schema has them, as \`application/json\`, of at most 64 KiB, that arrives within 10 s, or \`Idempotency-Key\` is not valid.`;
  return invalid === undefined ? inBody : `${inBody} ${invalid}`;
}

/** The further members of an example, by the kind of problem. */
const EXAMPLE_MEMBERS: { [kind in ProblemName]?: Json } = {
  'rate-limit-exceeded': { scope: 'account' },
  'monthly-quota-exceeded': { quota: 'monthly_credits', limit: 500, reset: '2026-12-01T00:00:00.000Z' },
  'key-budget-exceeded': { reset: '2026-11-27T00:00:00.000Z' },
};

function headersOf(descriptions: Record<string, string>, more: { required?: false } = {}) {
  return Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [
      name,
      { description, ...more, schema: { type: NUMBERS.includes(name) ? 'integer' : 'string' } },
    ]),
  );
}

/** A reference to a named schema, which is added to `schemas` (the document's `components`). So is every named schema in it. */
function reference({ $id: name, ...schema }: TSchema, schemas: Record<string, Schema>): Schema {
  schemas[name!] ??= JSON.parse(
    JSON.stringify(schema, (_, value) => (value?.$id === undefined ? value : reference(value, schemas))),
  );
  return { $ref: `#/components/schemas/${name}` };
}
