/**
 * The endpoints that clients of agents call themselves (OAuth 2.1): metadata, tokens, revocation, registration. The member's half is
 * `consent.ts`.
 */
import { Elysia } from 'elysia';
import { MCP_PATH } from '../../http/api-route.ts';
import { readJson } from '../../http/body.ts';
import { RESOURCE_METADATA, resourceOf, takesConnections } from '../../mcp/resource.ts';
import { registerClient } from '../../metering/connections/clients.ts';
import {
  ACCESS_S,
  exchangeCode,
  type Granted,
  refreshTokens,
  revokeByToken,
} from '../../metering/connections/tokens.ts';
import { isLockTimeout, type Sql } from '../../platform/postgres/connect.ts';
import { isObject } from '../../platform/runtime/json.ts';
import { OverloadedError } from '../../platform/runtime/timeout.ts';
import { KIB, SECOND } from '../../platform/units.ts';
import { VERSION } from '../../platform/version.ts';
import { countAttempt, registrationsOf, tokenFailuresOf } from '../auth/limits.ts';
import type { DashboardParts } from '../context.ts';
import { type ClientAddress, createClientAddress } from '../request/client-address.ts';
import { readForm } from '../request/read-form.ts';
import { type Bounds, createBounds } from '../request/request-limit.ts';
import { clientName, isListOfTexts, isRedirect } from './client-document.ts';

const AUTHORIZE_PATH = '/dashboard/connect';
const TOKEN_PATH = '/oauth/token';
const REVOKE_PATH = '/oauth/revoke';
const REGISTER_PATH = '/oauth/register';
const SERVER_METADATA = '/.well-known/oauth-authorization-server';

/** Requests of a network for an endpoint. A host of agents has many users behind one address: 36,000 that refresh once an hour. */
const REQUESTS_PER_MINUTE = 600;
/** As many as in an hour ({@link registrationsOf}). */
const REGISTRATIONS_PER_MINUTE = 20;
const MAX_BODY_BYTES = 8 * KIB;

/** A browser's page may call these, because each is open to any program anyway, and none reads a cookie. */
const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST, OPTIONS',
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
  'Access-Control-Max-Age': '86400',
};

const answer = (status: number, body: object | null, headers: Record<string, string> = {}) =>
  new Response(body === null ? null : JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...CORS, ...headers },
  });

/** An error as RFC 6749 has it. */
const refusal = (error: string, description: string, status = 400, headers = {}) =>
  answer(status, { error, error_description: description }, headers);

const tooMany = (waitS: number) =>
  refusal('temporarily_unavailable', 'Too many requests.', 429, { 'Retry-After': String(Math.ceil(waitS)) });

const busy = () => refusal('temporarily_unavailable', 'The service is busy.', 503, { 'Retry-After': '1' });

/** Attempts to lock a connection, whose refreshes queue up. The pool bounds the wait of each. */
const MAX_ATTEMPTS = 4;

/** Hosts refresh in bursts, so work that has waited for too long begins again. Later its client does. */
async function retryLocked(work: () => Response | Promise<Response>): Promise<Response> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
  }
  return busy();
}

/** A request that has its token. */
interface Sent {
  request: Request;
  /** The address that it is counted against. */
  from: ClientAddress;
  bounds: Bounds;
}

interface Endpoint {
  method: 'GET' | 'POST';
  /** Requests of a network in a minute. */
  perMinute: number;
  handle(sent: Sent): Response | Promise<Response>;
}

/** The endpoints as routes of the service; none if `publicUrl` can't have connections. */
export function connectionRoutes(parts: DashboardParts) {
  const { publicUrl, config, sql, observer, rateLimiter } = parts;
  const app = new Elysia({ name: 'connections' });
  if (!takesConnections(publicUrl)) return app;
  const addressOf = createClientAddress(config.trustProxy);
  const registers = config.oauthRegistration === 'on';

  const boundsOf = createBounds(rateLimiter);

  /** Before the token only the address and the length of the body are read, and only the store of buckets is asked. */
  function add(path: string, { method, perMinute, handle }: Endpoint): void {
    async function admit(sent: Sent): Promise<Response> {
      const waitS = await sent.bounds.take();
      if (waitS > 0) return tooMany(waitS);
      try {
        return await handle(sent);
      } catch (error) {
        if (error instanceof OverloadedError) return busy();
        throw error;
      }
    }
    app.all(
      path,
      ({ request, server }) =>
        observer.observe(request, path, () => {
          if (request.method === 'OPTIONS') return answer(204, null);
          if (request.method !== method)
            return refusal('invalid_request', `The method is ${method}.`, 405, {
              Allow: `${method}, OPTIONS`,
            });
          if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES)
            return refusal('invalid_request', `The body is over ${MAX_BODY_BYTES / KIB} KiB.`, 413);
          const peer = server?.requestIP(request)?.address ?? null;
          const from = addressOf(peer, request.headers.get('x-forwarded-for'));
          const bounds = boundsOf(path, from.address, perMinute);
          const pausedS = bounds.pausedS();
          return pausedS > 0 ? tooMany(pausedS) : admit({ request, from, bounds });
        }),
      { parse: 'none' },
    );
  }

  const resource = {
    resource: resourceOf(publicUrl),
    authorization_servers: [publicUrl],
    bearer_methods_supported: ['header'],
    resource_name: `Company Directory ${VERSION}`,
  };
  const server = {
    issuer: publicUrl,
    authorization_endpoint: publicUrl + AUTHORIZE_PATH,
    token_endpoint: publicUrl + TOKEN_PATH,
    revocation_endpoint: publicUrl + REVOKE_PATH,
    ...(registers && { registration_endpoint: publicUrl + REGISTER_PATH }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
  const cached = { 'Cache-Control': 'public, max-age=300' };
  const document = (body: object): Endpoint => ({
    method: 'GET',
    perMinute: REQUESTS_PER_MINUTE,
    handle: () => answer(200, body, cached),
  });
  for (const path of [RESOURCE_METADATA, RESOURCE_METADATA + MCP_PATH]) add(path, document(resource));
  add(SERVER_METADATA, document(server));

  // A host of agents refreshes the tokens of all its users from few addresses. So no failure of one refuses another's right token, which
  // nobody can guess: failures are counted behind the work, and the bucket bounds it.
  add(TOKEN_PATH, {
    method: 'POST',
    perMinute: REQUESTS_PER_MINUTE,
    async handle({ request, from, bounds }) {
      const form = await readFields(request, parts.stopping);
      return bounds.within(async () => {
        const answer =
          form === null
            ? refusal('invalid_request', 'The form was not read.')
            : await retryLocked(() => grant(sql, form, publicUrl));
        if (answer.status !== 400) return answer;
        const retryAfterS = await countAttempt(sql, ...tokenFailuresOf(from));
        return retryAfterS === null ? answer : tooMany(retryAfterS);
      });
    },
  });

  add(REVOKE_PATH, {
    method: 'POST',
    perMinute: REQUESTS_PER_MINUTE,
    async handle({ request, bounds }) {
      const form = await readFields(request, parts.stopping);
      const token = form?.get('token') ?? '';
      if (token === '') return refusal('invalid_request', 'The field token is missing.');
      const revoke = async () => {
        await revokeByToken(sql, token);
        // The same for a token that is none (RFC 7009).
        return answer(200, {});
      };
      return bounds.within(() => retryLocked(revoke));
    },
  });

  if (registers)
    add(REGISTER_PATH, {
      method: 'POST',
      perMinute: REGISTRATIONS_PER_MINUTE,
      async handle({ request, from, bounds }) {
        const body = await readJson(request, parts.stopping, { maxBytes: MAX_BODY_BYTES });
        return bounds.within(async () => {
          const retryAfterS = await countAttempt(sql, ...registrationsOf(from));
          if (retryAfterS !== null) return tooMany(retryAfterS);
          return register(sql, body === 'unread' ? null : body.json);
        });
      },
    });
  return app;
}

/** A form whose fields are there once each; `null` if it is none. */
async function readFields(request: Request, stopping: AbortSignal): Promise<URLSearchParams | null> {
  const form = await readForm(request, stopping, MAX_BODY_BYTES);
  return typeof form !== 'string' && new Set(form.keys()).size === form.size ? form : null;
}

async function grant(sql: Sql, form: URLSearchParams, publicUrl: string): Promise<Response> {
  const sent = (name: string) => form.get(name) ?? '';
  const resource = form.get('resource');
  if (resource !== null && resource !== resourceOf(publicUrl))
    return refusal('invalid_target', `The resource is ${resourceOf(publicUrl)}.`);
  const clientId = sent('client_id');
  const type = sent('grant_type');
  if (type === 'authorization_code') {
    const exchange = { code: sent('code'), clientId, redirectUri: form.get('redirect_uri') };
    return granted(await exchangeCode(sql, { ...exchange, verifier: sent('code_verifier') }), 'code');
  }
  if (type === 'refresh_token')
    return granted(await refreshTokens(sql, sent('refresh_token'), clientId), 'refresh token');
  return refusal('unsupported_grant_type', 'The grant types are authorization_code and refresh_token.');
}

function granted(tokens: Granted, from: string): Response {
  if (tokens === 'too many') return tooMany(60);
  if (tokens === 'invalid')
    return refusal(
      'invalid_grant',
      `The ${from} is unknown, used, expired or another client's. Sign in again.`,
    );
  const { access, refresh } = tokens;
  return answer(200, {
    access_token: access,
    token_type: 'Bearer',
    expires_in: ACCESS_S,
    refresh_token: refresh,
  });
}

/** Registers a public client (RFC 7591). */
async function register(sql: Sql, document: unknown): Promise<Response> {
  if (!isObject(document)) return refusal('invalid_client_metadata', 'The body is no object of JSON.');
  const { redirect_uris, client_name, token_endpoint_auth_method: method = 'none' } = document;
  if (!isListOfTexts(redirect_uris) || !redirect_uris.every(isRedirect))
    return refusal(
      'invalid_redirect_uri',
      'redirect_uris are https addresses, or http ones on the own machine.',
    );
  if (method !== 'none') return refusal('invalid_client_metadata', 'token_endpoint_auth_method is none.');
  const { id, name, redirectUris } = await registerClient(sql, {
    name: clientName(client_name),
    redirectUris: redirect_uris,
  });
  return answer(201, {
    client_id: id,
    client_id_issued_at: Math.floor(Date.now() / SECOND),
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  });
}
