import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** The answer to one request. */
export type Answer = { status: number; headers: Headers; body: unknown };

type Documented = {
  headers?: Record<string, { required?: boolean }>;
  content?: Record<string, { schema: object; examples?: object }>;
};
type Document = {
  servers: { url: string }[];
  paths: Record<string, Record<string, { responses: Record<string, Documented> }>>;
};

const PROBLEM = 'application/problem+json';
/** Headers that no answer of the API has. */
const UNWANTED = ['access-control-allow-origin', 'access-control-allow-headers', 'server', 'x-powered-by'];
/** Problems that are answered before a bucket is asked, so they have no headers of a bucket. */
const WITHOUT_BUCKET = ['unauthorized', 'authentication-failed', 'not-found', 'method-not-allowed'];

export type AnswerChecker = (method: string, path: string, answer: Answer) => void;

/**
 * Makes the check of every answer against the service's own OpenAPI document: the status is documented for that path,
 * and so are content type, body and headers. What every answer of the API has to have (docs/api.md: problems, 401, headers)
 * is checked with it.
 *
 * @param document as /openapi/json gives it
 */
export function createAnswerChecker(document: unknown): AnswerChecker {
  const { servers, paths } = document as Document;
  const ajv = validatorOf(document as Document);
  const origin = servers[0]!.url.replace(/\/api\/v1$/, '');

  const schemaAt = (...steps: string[]): ValidateFunction => {
    const pointer = steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')));
    const validate = ajv.getSchema(`openapi.json#/${pointer.join('/')}`);
    if (validate === undefined) throw new Error(`the OpenAPI document has nothing at ${steps.join(' ')}`);
    return validate;
  };

  return (method, path, answer) => {
    const complain = (what: string): never => {
      throw new Error(`${method} ${path} → ${answer.status}: ${what}\n${JSON.stringify(answer.body)}`);
    };
    const template = templateOf(Object.keys(paths), path);
    checkCommonHeaders(answer, complain);
    checkProblem(answer, origin, complain);
    const allowed = Object.keys(paths[template ?? ''] ?? {}).map((name) => name.toUpperCase());
    if (template === null || !allowed.includes(method)) {
      // Not an endpoint: the two problems that ask for no key (docs/api.md: problems).
      const status = template === null ? 404 : 405;
      if (answer.status !== status) complain(`${status} is what is not in the document answers`);
      if (status === 405 && answer.headers.get('allow') !== allowed.join(', ')) complain('Allow is wrong');
      if (answer.body !== null) check(schemaAt('components', 'schemas', 'Problem'), answer.body, complain);
      return;
    }
    const verb = method.toLowerCase();
    const documented = paths[template]![verb]!.responses[answer.status];
    if (documented === undefined) return complain('this status is not documented');
    const type = answer.headers.get('content-type') ?? '';
    const content = documented.content?.[type];
    if (content === undefined) return complain(`content type ${type} is not documented`);
    const kind = kindOf(answer);
    if (kind !== null && !Object.hasOwn(content.examples ?? {}, kind))
      complain('this kind is not documented');
    const response = ['paths', template, verb, 'responses', String(answer.status)];
    check(schemaAt(...response, 'content', type, 'schema'), answer.body, complain);
    for (const [header, { required }] of Object.entries(documented.headers ?? {})) {
      if (required === false) continue;
      const isOfCaller = header.startsWith('RateLimit-') || header === 'X-Credits';
      const exempt = kind !== null && WITHOUT_BUCKET.includes(kind) && isOfCaller;
      if (answer.headers.get(header) === null && (required === true || !exempt))
        complain(`${header} is missing`);
    }
  };
}

const validators = new Map<string, Ajv2020>();

/** One for all services of the process whose documents differ in their address alone: to compile a schema takes longer than a call. */
function validatorOf({ servers: _, ...document }: Document): Ajv2020 {
  const text = JSON.stringify(strictly(document));
  const known = validators.get(text);
  if (known !== undefined) return known;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema(JSON.parse(text), 'openapi.json');
  validators.set(text, ajv);
  return ajv;
}

/** Published schemas are open, so that members can be added. Here each answer has the documented members alone. */
export function strictly<Schema>(schema: Schema): Schema {
  const text = JSON.stringify(schema, (_, value) =>
    value?.properties === undefined ? value : { ...value, additionalProperties: false },
  );
  return JSON.parse(text);
}

function templateOf(templates: string[], path: string): string | null {
  const bare = path.split('?', 1)[0]!;
  return (
    templates.find((template) => template === bare) ??
    templates.find((template) => new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(bare)) ??
    null
  );
}

function check(validate: ValidateFunction, body: unknown, complain: (what: string) => never): void {
  if (!validate(body)) {
    complain(validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`).join('; '));
  }
}

function checkCommonHeaders({ headers }: Answer, complain: (what: string) => never): void {
  if (headers.get('cache-control') !== 'private, no-store')
    complain('Cache-Control is not private, no-store');
  if (headers.get('x-content-type-options') !== 'nosniff') complain('X-Content-Type-Options is not nosniff');
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(headers.get('x-request-id') ?? '')) complain('X-Request-Id is missing');
  for (const name of UNWANTED) if (headers.get(name) !== null) complain(`there is a header ${name}`);
  checkRateLimitHeaders(headers, complain);
}

/** All four or none, and of the form that the specification gives them (Rate limit); beside them what the request has cost. */
function checkRateLimitHeaders(headers: Headers, complain: (what: string) => never): void {
  const names = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy'];
  const [limit, remaining, reset, policy] = names.map((name) => headers.get(name));
  if ([limit, remaining, reset, policy].every((value) => value === null)) return;
  if (!/^[1-9]\d*$/.test(limit ?? '')) complain(`RateLimit-Limit is ${limit}`);
  if (!/^\d+$/.test(headers.get('X-Credits') ?? '')) complain(`X-Credits is ${headers.get('X-Credits')}`);
  if (policy !== `${limit};w=60`) complain(`RateLimit-Policy is ${policy}`);
  if (!/^\d+$/.test(remaining ?? '') || Number(remaining) > Number(limit))
    complain(`RateLimit-Remaining is ${remaining}`);
  const inS = Number(reset) - Date.now() / 1000;
  if (!/^\d+$/.test(reset ?? '') || Math.abs(inS) > 62) complain(`RateLimit-Reset is ${inS} s from now`);
}

/** RFC 9457, with a type below the service's own address. */
function checkProblem(answer: Answer, origin: string, complain: (what: string) => never): void {
  if (answer.status < 400 || answer.body === null) return;
  const { type, status, title, detail } = answer.body as Record<string, unknown>;
  if (answer.headers.get('content-type') !== PROBLEM) complain('a failure has to be problem details');
  if (typeof type !== 'string' || !type.startsWith(`${origin}/problems/`)) complain(`type is ${type}`);
  if (status !== answer.status) complain(`status is ${status} in the body`);
  if (!title || !detail) complain('title or detail is empty');
  const wait = answer.headers.get('retry-after');
  if ([429, 503].includes(answer.status) && !/^[1-9]\d*$/.test(wait ?? ''))
    complain(`Retry-After is ${wait}`);
  if (answer.status === 401 && answer.headers.get('www-authenticate') !== 'Bearer') {
    complain('WWW-Authenticate is not Bearer');
  }
}

/** The last segment of a problem's type; null for a success. */
export function kindOf({ body }: Pick<Answer, 'body'>): string | null {
  const type = (body as { type?: unknown } | null)?.type;
  return typeof type === 'string' ? type.slice(type.lastIndexOf('/') + 1) : null;
}
