import { createHmac, randomBytes } from 'node:crypto';
import { hashPassword } from 'better-auth/crypto';
import { parseHTML } from 'linkedom';
import { SECOND } from '../../src/platform/units.ts';
import type { TestService } from '../support/service.ts';
import type { MailServer } from './service.ts';

/** An answer of the dashboard, and its page. */
export type PageAnswer = ReturnType<typeof readPage>;

function readPage({ status, headers }: Response, text: string) {
  // Most answers are asked for their status alone, so a page is parsed when its elements are.
  let parsed: ReturnType<typeof parseHTML>['document'] | undefined;
  const parse = () => (parsed ??= parseHTML(text === '' ? '<html></html>' : text).document);
  const plain = ({ textContent }: { textContent: string | null }) => textContent!.replace(/\s+/g, ' ').trim();
  const all = (selector: string) => [...parse().querySelectorAll(selector)];
  const textOf = (selector: string) => all(selector).map(plain)[0] ?? null;
  const attributesOf = (selector: string, name: string) =>
    all(selector).map((element) => element.getAttribute(name));
  return {
    status,
    headers,
    text,
    get document() {
      return parse();
    },
    /** The text of the element that a selector finds, with white space collapsed; `null` if it finds none. */
    textOf,
    /** The same of each element that it finds. */
    textsOf: (selector: string) => all(selector).map(plain),
    /** The same of the cells of each row. */
    cellsOf: (rows: string) => all(rows).map((row) => [...row.children].map(plain)),
    /** An attribute of each element that it finds. */
    attributesOf,
    /** The addresses of the links that it finds. */
    linksOf: (selector: string) => attributesOf(selector, 'href'),
    /** The value of the field that it finds; `null` if it finds none. */
    valueOf: (selector: string) => attributesOf(selector, 'value')[0] ?? null,
    /** The status, and the address that it leads to. */
    place: () => [status, headers.get('location')],
    /** The status, and the text of the alert. */
    refusal: () => `${status} ${textOf('[role=alert]')}`,
    /** How many elements it finds. */
    countOf: (selector: string) => all(selector).length,
  };
}

export type Visitor = ReturnType<typeof createVisitor>;

/** The header that carries a visitor's cookies, for a request that is not theirs to send. */
export const cookiesOf = ({ cookies }: { cookies: Map<string, string> }) =>
  [...cookies].map((pair) => pair.join('=')).join('; ');

/** The values of a form. Only texts are sent. */
type Fields = Record<string, unknown>;

/**
 * A browser as far as HTTP goes: keeps cookies, takes a form's token from its page, follows no redirect.
 *
 * @param address the visitor's address for the service, which must trust 127.0.0.1 as a proxy. By default a new one, so that no
 * visitor uses up another's sign-ups
 * @param copied the cookies of another browser
 * @param isPatient whether it sends again what a busy service refuses (503 with `Retry-After`), as the page asks a person to
 */
export function createVisitor(
  baseUrl: string,
  { address = randomAddress(), language = 'en', isPatient = false, copied = new Map<string, string>() } = {},
) {
  const cookies = new Map(copied);

  async function send(
    path: string,
    init: RequestInit,
    headers: Record<string, string> = {},
    tries = 3,
  ): Promise<PageAnswer> {
    const sent = new Headers({ 'X-Forwarded-For': address, 'Accept-Language': language, ...headers });
    if (cookies.size > 0 && !sent.has('cookie')) sent.set('Cookie', cookiesOf({ cookies }));
    const response = await fetch(baseUrl + path, { ...init, headers: sent, redirect: 'manual' });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = cookie.split(/;\s*/);
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      if (attributes.some((attribute) => /^max-age=0$/i.test(attribute))) cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await response.text();
    const retryAfterS = Number(response.headers.get('retry-after'));
    if (isPatient && tries > 1 && response.status === 503 && retryAfterS > 0) {
      await Bun.sleep(retryAfterS * SECOND);
      return send(path, init, headers, tries - 1);
    }
    return readPage(response, text);
  }

  /** Sends a form without opening its page. */
  function post(path: string, fields: Fields, headers: Record<string, string> = {}) {
    const texts = Object.entries(fields).filter(([, value]) => typeof value === 'string');
    const body = new URLSearchParams(texts as [string, string][]);
    return send(path, { method: 'POST', body }, { Origin: baseUrl, ...headers });
  }

  return {
    cookies,
    get: (path: string, headers?: Record<string, string>) => send(path, {}, headers),
    /** The text of the element that a selector finds in a page, as `textOf` has it. */
    textAt: async (path: string, selector: string) => (await send(path, {})).textOf(selector),
    post,
    /**
     * Opens the page of a form and sends the form with its own values, except those in `fields`.
     * @param options.form its selector; by default the first one in the page's `main` that is sent by POST
     */
    async submit(page: string, fields: Fields, { form = 'main form[method=post]' } = {}) {
      const { document, status } = await send(page, {});
      const element = document.querySelector(form);
      if (element === null) throw new Error(`${page} (${status}) has no form ${form}`);
      // As a browser does, it sends no box that is not ticked.
      const inputs = [...element.querySelectorAll('input')].filter(
        (input) => input.getAttribute('type') !== 'checkbox' || input.hasAttribute('checked'),
      );
      const own = inputs.map((input) => ['name', 'value'].map((name) => input.getAttribute(name) ?? ''));
      return post(element.getAttribute('action') ?? page, { ...Object.fromEntries(own), ...fields });
    },
  };
}

export interface Person {
  name: string;
  email: string;
  password: string;
}

export function newPerson(name = 'Padaria Central'): Person {
  const [id, secret] = [randomBytes(5).toString('hex'), randomBytes(5).toString('hex')];
  return { name, email: `${id}@example.com`, password: `secret-${secret}` };
}

/** Signs up, and stays signed in. @returns the account that was made */
export async function signUp(
  visitor: Visitor,
  person: Person = newPerson(),
): Promise<{ accountId: string } & Person> {
  const answer = await visitor.submit('/dashboard/sign-up', { ...person });
  if (answer.status !== 303)
    throw new Error(`the sign-up was refused: ${answer.status} ${answer.textOf('[role=alert]')}`);
  return { accountId: await ownAccount(visitor), ...person };
}

const ownAccount = async (visitor: Visitor) => (await visitor.get('/dashboard/settings')).textOf('dl code')!;

type Service = Pick<TestService, 'baseUrl' | 'sql'> & { config: Pick<TestService['config'], 'authSecret'> };

/** One hash for all members: scrypt keeps a core busy for 60 to 100 ms. */
const MEMBER_PASSWORD = 'secret of all members';
const hashOfAll = hashPassword(MEMBER_PASSWORD);

/**
 * A member with a confirmed email and a session, as a sign-up makes one, without its mail and its time.
 * @returns the account that was made
 */
export async function createMember(
  { baseUrl, sql, config }: Service,
  options: { visitor?: Visitor; language?: string; name?: string } = {},
): Promise<{ visitor: Visitor; accountId: string; userId: string } & Person> {
  const { visitor = createVisitor(baseUrl, options) } = options;
  const person = { ...newPerson(options.name), password: MEMBER_PASSWORD };
  const [id, token] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
  await sql`
    WITH added AS (
      INSERT INTO dashboard_users ("id", "name", "email", "emailVerified") VALUES (${id}, ${person.name}, ${person.email}, true)),
    credential AS (
      INSERT INTO dashboard_credentials ("id", "accountId", "providerId", "userId", "password", "updatedAt")
      VALUES (${id}, ${id}, 'credential', ${id}, ${await hashOfAll}, now()))
    INSERT INTO dashboard_sessions ("id", "token", "userId", "expiresAt", "updatedAt")
    VALUES (${id}, ${token}, ${id}, now() + interval '7 days', now())`;
  // As better-auth signs it.
  const signature = createHmac('sha256', config.authSecret!).update(token).digest('base64');
  visitor.cookies.set('dashboard.session_token', encodeURIComponent(`${token}.${signature}`));
  // The first page opens the account.
  await visitor.get('/dashboard/settings/name');
  const [member] = await sql<{ accountId: string }[]>`
    SELECT account_id AS "accountId" FROM dashboard_members WHERE user_id = ${id}`;
  return { visitor, accountId: member!.accountId, userId: id, ...person };
}

/** Signs up where mail is sent: the password is chosen behind the link, which signs in. @returns the account that was made */
export async function signUpByMail(
  visitor: Visitor,
  mail: MailServer,
  person: Person = newPerson(),
): Promise<{ accountId: string } & Person> {
  const { password, ...own } = person;
  await visitor.submit('/dashboard/sign-up', own);
  await visitor.submit(await linkTo(mail, person.email), { password });
  return { accountId: await ownAccount(visitor), ...person };
}

/** Accepts an invitation as a new member. */
export async function acceptAs(baseUrl: string, token: string, name: string): Promise<Visitor> {
  const visitor = createVisitor(baseUrl);
  const password = newPerson().password;
  const answer = await visitor.submit(`/dashboard/invitation?token=${token}`, { name, password });
  if (answer.status !== 303) throw new Error(`the invitation was refused: ${answer.status}`);
  return visitor;
}

/** The path and query of the link in the next mail to an address. */
export async function linkTo(mail: MailServer, email: string): Promise<string> {
  const { text } = await mail.mailTo(email);
  const { pathname, search } = new URL(/http\S+/.exec(text)![0]);
  return pathname + search;
}

/** A form's token, for a form that is sent without its page. */
export async function formTokenOf(visitor: Visitor, page = '/dashboard/sign-in'): Promise<string> {
  return (await visitor.get(page)).valueOf('input[name=form_token]')!;
}

/** Creates a key. @returns its secret */
export async function makeKey(visitor: Visitor, name = 'test'): Promise<string> {
  const answer = await visitor.submit('/dashboard/keys', { name });
  const secret = answer.textOf('#new-secret');
  if (secret === null) throw new Error(`no key was made: ${answer.status} ${answer.textOf('[role=alert]')}`);
  return secret;
}

/** A new member, and the account's only key. */
export async function createMemberWithKey(service: Service, name = 'production') {
  const member = await createMember(service);
  const secret = await makeKey(member.visitor, name);
  const [key] = await service.sql<{ id: string }[]>`
    SELECT id FROM api_keys WHERE account_id = ${member.accountId}`;
  return { ...member, secret, id: key!.id };
}

/** The status of a call with a key. */
export async function usageStatus({ url }: Pick<TestService, 'url'>, key: string): Promise<number> {
  const { status } = await fetch(`${url}/usage`, { headers: { Authorization: `Bearer ${key}` } });
  return status;
}

/** Each in another network: addresses of one IPv6 /64 count as one. */
export function randomAddress(): string {
  const group = () => randomBytes(2).toString('hex');
  return `2001:db8:${group()}:${group()}::1`;
}

const SECOND_FACTOR = '/dashboard/settings/second-factor';

/** The code that an app shows (RFC 6238), `steps` times 30 seconds from now. */
export function codeOf(secret: string, steps = 0): string {
  const bits = [...secret].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter));
  const binary = bits.map((value) => value.toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((binary.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const digest = createHmac('sha1', key).update(counter).digest();
  const number = digest.readUInt32BE(digest.at(-1)! & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

/** A member who has turned the second factor on, by `used`: `codeOf(secret)` may be the next code by now. */
export async function enrolled(service: TestService) {
  const { visitor, ...person } = await createMember(service);
  const page = await visitor.submit(SECOND_FACTOR, { present: person.password });
  const secret = page.textOf('#secret')!;
  const codes = page.document.querySelector('#backup-codes')!.textContent!.split('\n');
  const used = codeOf(secret);
  const answer = await visitor.post(`${SECOND_FACTOR}/confirm`, { ...fieldsOf(page), code: used });
  if (answer.headers.get('location') !== `${SECOND_FACTOR}?done=on`)
    throw new Error(`not turned on: ${answer.status}`);
  return { visitor, person, page, secret, codes, used };
}

/** The hidden fields of a page's form. */
export function fieldsOf({ attributesOf }: PageAnswer): Record<string, string> {
  const [names, values] = ['name', 'value'].map((name) => attributesOf('main form input[type=hidden]', name));
  return Object.fromEntries(names!.map((name, index) => [name, values![index]]));
}
