/** An agent's client as far as OAuth goes, and the member who connects it. */
import { createHash, randomBytes } from 'node:crypto';
import { callTool as callMcp } from '../../support/mcp.ts';
import type { TestService } from '../../support/service.ts';
import { createMember, type PageAnswer, type Person, randomAddress, type Visitor } from '../visitor.ts';

type Service = Pick<TestService, 'baseUrl'>;

const REDIRECT = 'https://agent.example/callback';

export type Agent = ReturnType<typeof agentOf>;

/** Registers a client, for a service with OAUTH_REGISTRATION=on. */
export async function registerAgent(
  { baseUrl }: Service,
  { name = 'Helper', redirectUri = REDIRECT } = {},
): Promise<Agent> {
  const response = await fetch(`${baseUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': randomAddress() },
    body: JSON.stringify({ redirect_uris: [redirectUri], client_name: name }),
  });
  const { client_id: clientId } = (await response.json()) as { client_id: string };
  return agentOf(clientId, redirectUri);
}

/** An agent of a client, which may be unknown. */
export function agentOf(clientId: string, redirectUri = REDIRECT) {
  const random = () => randomBytes(32).toString('base64url');
  return { clientId, redirectUri, verifier: random(), state: random() };
}

/** The path to which the agent sends the browser. @param changed `null` leaves a parameter out */
export function authorizePath(
  { clientId, redirectUri, verifier, state }: Agent,
  changed: Record<string, string | null> = {},
): string {
  const parameters: Record<string, string | null> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    ...changed,
  };
  const sent = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== null);
  return `/dashboard/connect?${new URLSearchParams(sent)}`;
}

/** Opens the page of consent, for a member who is signed in. @returns its path */
export async function openConsent(visitor: Visitor, agent: Agent, changed = {}): Promise<string> {
  const answer = await visitor.get(authorizePath(agent, changed));
  const to = answer.headers.get('location');
  if (to === null) throw new Error(`no page of consent: ${answer.status} ${answer.textOf('main')}`);
  return to;
}

export const boxesOf = ({ document }: PageAnswer) =>
  [...document.querySelectorAll('input[type=checkbox][checked]')].map((box) => box.getAttribute('name')!);

/** Consents with the defaults of the page. */
export const consent = (visitor: Visitor, person: Pick<Person, 'password'>, page: string, fields = {}) =>
  visitor.submit(page, { present: person.password, per: 'day', ...fields });

/** The parameters with which the browser comes back to the client. */
export function answerOf({ headers }: PageAnswer): Record<string, string> {
  return Object.fromEntries(new URL(headers.get('location')!).searchParams);
}

export async function askToken(
  { baseUrl }: Service,
  fields: Record<string, string>,
  address = randomAddress(),
) {
  const response = await fetch(`${baseUrl}/oauth/token`, {
    method: 'POST',
    headers: { 'X-Forwarded-For': address },
    body: new URLSearchParams(fields),
  });
  type Answer = { access_token: string; refresh_token: string; expires_in: number; error?: string };
  return { status: response.status, ...((await response.json()) as Answer) };
}

export const exchange = (
  service: Service,
  agent: Agent,
  code: string,
  changed: Record<string, string> = {},
) =>
  askToken(service, {
    grant_type: 'authorization_code',
    code,
    client_id: agent.clientId,
    redirect_uri: agent.redirectUri,
    code_verifier: agent.verifier,
    ...changed,
  });

export const refresh = (service: Service, { clientId }: Pick<Agent, 'clientId'>, token: string) =>
  askToken(service, { grant_type: 'refresh_token', refresh_token: token, client_id: clientId });

export const revoke = ({ baseUrl }: Service, token: string) =>
  fetch(`${baseUrl}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ token }) });

type Connecting = { visitor: Visitor; password: string };

/** A code that was not exchanged yet, with its agent. */
export async function waitingCode(service: Service, { visitor, password }: Connecting) {
  const agent = await registerAgent(service);
  const answer = await consent(visitor, { password }, await openConsent(visitor, agent));
  return { agent, code: answerOf(answer).code! };
}

/** Connects an agent of a member. */
export async function connectAgent(service: Service, person: Connecting) {
  const { agent, code } = await waitingCode(service, person);
  return { agent, code, tokens: await exchange(service, agent, code) };
}

/** A member of a new account whose browser an agent has sent to the page of consent. */
export async function askedMember(service: TestService, changed = {}) {
  const member = await createMember(service);
  const agent = await registerAgent(service);
  return { member, agent, path: await openConsent(member.visitor, agent, changed) };
}

/** A member of a new account, and the agent that they have connected. */
export async function connectedMember(service: TestService) {
  const member = await createMember(service);
  return { member, ...(await connectAgent(service, member)) };
}

/** A call of a tool with a token. */
export async function callTool(service: Service, token: string | null, tool = 'list_datasets', input = {}) {
  const response = await callMcp(service, tool, input, token === null ? {} : { key: token });
  const body = (await response.json()) as { result: { isError?: true } };
  return { status: response.status, challenge: response.headers.get('www-authenticate'), body };
}
