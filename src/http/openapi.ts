import type { TSchema } from '@sinclair/typebox';
import { Type } from '@sinclair/typebox';
import type { Operation } from './operation.ts';
import { PROBLEM_CONTENT_TYPE, PROBLEMS, type ProblemName, problemType } from './problems.ts';

/** The path that `{base_url}` ends with (specification, Versioning). */
export const BASE_PATH = '/api/v1';

/** Problems that the chain itself can answer, before a handler is asked. */
const CHAIN_PROBLEMS: ProblemName[] = [
  'unauthorized',
  'rate-limit-exceeded',
  'authentication-failed',
  'service-unavailable',
  'internal-error',
];

const ProblemSchema = Type.Object(
  {
    type: Type.String({ format: 'uri', description: 'Identifies the kind; the address of a page about it.' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    quota: Type.Optional(Type.Literal('monthly_credits')),
    limit: Type.Optional(Type.Integer({ description: 'The included allowance.' })),
    reset: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { $id: 'Problem', additionalProperties: false },
);

const RATE_HEADERS: Record<string, string> = {
  'RateLimit-Limit': 'Bucket capacity and refill rate, requests per minute.',
  'RateLimit-Remaining': 'Whole tokens remaining after the admission attempt.',
  'RateLimit-Reset': 'Unix time in seconds when at least one token is available.',
  'RateLimit-Policy': 'The policy as `<limit>;w=60`.',
};
const COMMON_HEADERS: Record<string, string> = { 'X-Request-Id': 'Names this request in the log.' };

/** When a problem is answered before a token was taken (src/admission/chain.ts), so that there is no bucket to tell of. */
const WITHOUT_TOKEN: Partial<Record<ProblemName, string>> = {
  'authentication-failed': 'for `authentication-failed`',
  'service-unavailable': 'where an overloaded service took no token',
};

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of the service, from the schemas that its routes use. */
export function createOpenApi(publicUrl: string, operations: Operation[]): Json {
  const schemas: Record<string, TSchema> = {};
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] = { get: describeOperation(publicUrl, operation, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Company Directory API',
      version: '1',
      description:
        'Searches Portuguese companies by name or NIF, gives the details of one, and reports the usage of an account.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl + BASE_PATH }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, withReferences(schema, name, schemas)]),
      ),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, with its `svc_` prefix.' },
      },
    },
  };
}

function describeOperation(publicUrl: string, operation: Operation, schemas: Record<string, TSchema>): Json {
  const kinds = [...operation.problems, ...CHAIN_PROBLEMS];
  if (operation.charge !== null) kinds.push('monthly-quota-exceeded');
  const responses: Record<string, Json> = {
    200: {
      description: 'Success.',
      headers: headersOf({ ...COMMON_HEADERS, ...RATE_HEADERS, ...operation.successHeaders }),
      content: { 'application/json': { schema: reference(operation.success, schemas) } },
    },
  };
  for (const status of [...new Set(kinds.map((kind) => PROBLEMS[kind].status))].sort()) {
    const here = kinds.filter((kind) => PROBLEMS[kind].status === status);
    responses[status] = {
      description: here.map((kind) => `\`${kind}\`: ${PROBLEMS[kind].cause}`).join('\n\n'),
      headers: headersOf({
        ...COMMON_HEADERS,
        ...rateHeadersOf(here),
        ...(status === 429 || status === 503 ? { 'Retry-After': 'Seconds to wait.' } : {}),
        ...(status === 401 ? { 'WWW-Authenticate': 'Always `Bearer`.' } : {}),
      }),
      content: {
        [PROBLEM_CONTENT_TYPE]: {
          schema: reference(ProblemSchema, schemas),
          examples: Object.fromEntries(
            here.map((kind) => [kind, { value: exampleProblem(publicUrl, kind) }]),
          ),
        },
      },
    };
  }
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: `${operation.description}\n\nCosts ${operation.charge === null ? 'no credit' : 'one credit'}.`,
    parameters: operation.parameters.map((parameter) => ({ ...parameter, required: true })),
    responses,
  };
}

/** The RateLimit headers of a status with these kinds, and when they are absent; none where they always are. */
function rateHeadersOf(kinds: ProblemName[]): Record<string, string> {
  if (kinds.includes('unauthorized')) return {};
  const absent = kinds.flatMap((kind) => WITHOUT_TOKEN[kind] ?? []).join(' and ');
  if (absent === '') return RATE_HEADERS;
  return Object.fromEntries(
    Object.entries(RATE_HEADERS).map(([name, description]) => [name, `${description} Absent ${absent}.`]),
  );
}

function exampleProblem(publicUrl: string, kind: ProblemName): Json {
  const { title, status, cause } = PROBLEMS[kind];
  const quota =
    kind === 'monthly-quota-exceeded'
      ? { quota: 'monthly_credits', limit: 500, reset: '2026-12-01T00:00:00.000Z' }
      : {};
  return { type: problemType(publicUrl, kind), title, status, detail: cause, ...quota };
}

function headersOf(descriptions: Record<string, string>): Json {
  return Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  );
}

/** A reference to the schema under `components`, where it is put with everything in it that has a name. */
function reference(schema: TSchema, schemas: Record<string, TSchema>): Json {
  const name = schema.$id!;
  schemas[name] = schema;
  collectNamed(schema, schemas);
  return { $ref: `#/components/schemas/${name}` };
}

function collectNamed(value: unknown, schemas: Record<string, TSchema>): void {
  if (value === null || typeof value !== 'object') return;
  const { $id } = value as TSchema;
  if ($id !== undefined) schemas[$id] = value as TSchema;
  for (const member of Object.values(value)) collectNamed(member, schemas);
}

/** A plain copy in which every named schema but the outermost is a reference. */
function withReferences(value: unknown, outermost: string, schemas: Record<string, TSchema>): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((member) => withReferences(member, outermost, schemas));
  const { $id, ...members } = value as TSchema;
  if ($id !== undefined && $id !== outermost) return { $ref: `#/components/schemas/${$id}` };
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, withReferences(member, outermost, schemas)]),
  );
}
