/** Sign-up, sign-in and invitations; and where a visitor gets to: from a bare address, a deep link, a form that is out of date; and in which language. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { OpenApi } from '../../../src/http/openapi.ts';
import { createCommandLine } from '../../support/command.ts';
import { startDashboardService } from '../service.ts';
import {
  createMember,
  createVisitor,
  formTokenOf,
  makeKey,
  newPerson,
  type PageAnswer,
  signUp,
} from '../visitor.ts';

const open = await startDashboardService();
const closed = await startDashboardService({ SIGN_UP: 'closed' });
afterAll(() => Promise.all([open.stop(), closed.stop()]));

const said = (answer: PageAnswer) => [answer.status, answer.textOf('[role=alert]')] as const;

const signUpFrom = (address: string) =>
  createVisitor(open.baseUrl, { address }).submit('/dashboard/sign-up', { ...newPerson() });

describe('sign-up', () => {
  test('says what the Free plan gives, as the plan has it', async () => {
    const lead = async (language: string) =>
      (await createVisitor(open.baseUrl, { language }).get('/dashboard/sign-up')).textOf('.lead + p');
    expect(await lead('en')).toBe('Plan Free. Credits a month: 500. API keys: 2.');
    await open.sql`UPDATE plans SET included_credits = 700, api_keys = 5 WHERE name = 'free'`;
    expect(await lead('en')).toBe('Plan Free. Credits a month: 700. API keys: 5.');
    expect(await lead('pt')).toBe('Plano Gratuito. Créditos por mês: 700. Chaves: 5.');
    await open.sql`UPDATE plans SET included_credits = 500, api_keys = 2 WHERE name = 'free'`;
  });

  test('an email can sign up once, whatever its case', async () => {
    const person = newPerson();
    await signUp(createVisitor(open.baseUrl), person);
    const again = { ...person, email: person.email.toUpperCase(), password: 'another password' };
    const answer = await createVisitor(open.baseUrl).submit('/dashboard/sign-up', again);
    expect(said(answer)).toEqual([422, 'There is an account with this email already. Sign in instead.']);
    expect(answer.linksOf('.fault a')).toEqual(['/dashboard/sign-in']);
  });

  test('at most five an hour come from one address, even at once; another address is not held up', async () => {
    const address = '198.51.100.7';
    const answers = await Promise.all(Array.from({ length: 8 }, () => signUpFrom(address)));
    const refused = answers.filter(({ status }) => status === 429);
    expect([answers.filter(({ status }) => status === 303).length, refused.length]).toEqual([5, 3]);
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeWithin(3501, 3601);
    expect(refused[0]!.textOf('[role=alert]')).toContain('Too many attempts');
    expect((await signUpFrom('198.51.100.8')).status).toBe(303);
  });

  test('at most twenty an hour come from one IPv6 /48', async () => {
    expect((await signUpFrom('2001:db8:77:1::1')).status).toBe(303);
    await open.sql`UPDATE dashboard_attempts SET attempts = 19 WHERE key = 'sign-up 2001:db8:77::/48'`;
    expect((await signUpFrom('2001:db8:77:2::1')).status).toBe(303);
    expect((await signUpFrom('2001:db8:77:3::1')).status).toBe(429);
    expect((await signUpFrom('2001:db8:78:3::1')).status).toBe(303);
  });
});

test('a sign-in with an unknown email and one with a wrong password are answered alike', async () => {
  const { visitor: _, ...person } = await createMember(open);
  const visitor = createVisitor(open.baseUrl);
  const wrong = await visitor.submit('/dashboard/sign-in', { ...person, password: 'not the password' });
  const unknown = await visitor.submit('/dashboard/sign-in', { ...newPerson() });
  expect(said(wrong)).toEqual([401, 'The email or the password is wrong.']);
  expect(said(unknown)).toEqual(said(wrong));
  for (const { document } of [wrong, unknown])
    expect(document.querySelector('[autofocus][aria-describedby=password-fault]')).not.toBeNull();
  expect((await visitor.submit('/dashboard/sign-in', { ...person })).status).toBe(303);
  expect((await visitor.get('/dashboard')).status).toBe(200);
});

describe('invitations', () => {
  const cli = createCommandLine(closed.databaseUrl, { PUBLIC_URL: closed.baseUrl });
  /** Invites to a new account. @returns the answer of the command, and the path of the link */
  async function inviteTo(name: string, email: string) {
    const account = await cli.json('account', 'create', '--name', name);
    const again = async () => {
      const answer = await cli.json('account', 'invite', account.id, '--email', email);
      return { account, answer, path: answer.link.slice(closed.baseUrl.length), again };
    };
    return again();
  }

  test('SIGN_UP=closed: nobody signs up, and the pages say so', async () => {
    const visitor = createVisitor(closed.baseUrl);
    expect((await visitor.get('/dashboard/sign-up')).status).toBe(403);
    const page = await visitor.get('/dashboard/sign-in');
    expect(page.text).not.toContain('/dashboard/sign-up');
    const form_token = await formTokenOf(visitor);
    const person = newPerson();
    expect((await visitor.post('/dashboard/sign-up', { ...person, form_token })).status).toBe(403);
    expect(await closed.sql`SELECT 1 FROM dashboard_users WHERE "email" = ${person.email}`).toHaveLength(0);
  });

  test('`account invite` prints a link that works once, for this account and this email', async () => {
    const { account, answer, path } = await inviteTo('Invited Lda', 'Maria@Example.com');
    expect(answer).toMatchObject({ id: account.id, email: 'maria@example.com', mailed: false });
    expect(answer.link).toStartWith(`${closed.baseUrl}/dashboard/invitation?token=`);
    const token = new URL(answer.link).searchParams.get('token')!;
    const stored = JSON.stringify(await closed.sql`SELECT * FROM dashboard_invitations`);
    expect(stored).not.toContain(token);

    const visitor = createVisitor(closed.baseUrl);
    const choice = { name: 'Maria', password: 'a long password', email: 'mallory@example.com' };
    expect((await visitor.submit(path, choice)).status).toBe(303);
    expect((await visitor.get('/dashboard')).textOf('.account strong')).toBe('Invited Lda');
    expect((await visitor.get('/dashboard/settings')).text).toContain('maria@example.com');
    await makeKey(visitor);

    expect((await createVisitor(closed.baseUrl).get(path)).status).toBe(404);
    const late = createVisitor(closed.baseUrl);
    const form_token = await formTokenOf(late);
    expect((await late.post('/dashboard/invitation', { ...choice, form_token, token })).status).toBe(404);
  });

  test('its page asks a new user for a name and a password, and a member for a new password alone', async () => {
    const { path, again } = await inviteTo('Forgetful Lda', 'forgets@example.com');
    const visitor = createVisitor(closed.baseUrl);
    const shown = async (path: string) => {
      const { textOf, document } = await visitor.get(path);
      return [textOf('h1'), textOf('.lead'), document.querySelector('#name') !== null];
    };
    expect(await shown(path)).toEqual([
      'Choose a password',
      'You were invited to the account “Forgetful Lda”. Your sign-in is forgets@example.com.',
      true,
    ]);
    await visitor.submit(path, { name: 'F', password: 'the first password' });
    const account = 'Account “Forgetful Lda”, for forgets@example.com.';
    expect(await shown((await again()).path)).toEqual(['Choose a new password', account, false]);
  });

  test('an unknown account is exit 1, a wrong email exit 2, an old link a page that says so', async () => {
    const to = ['account', 'invite', 'acc_none'];
    expect((await cli.refusal(...to, '--email', 'a@example.com')).code).toBe(1);
    expect((await cli.refusal(...to, '--email', 'nobody')).code).toBe(2);
    expect((await cli.refusal(...to)).code).toBe(2);
    const { account, path } = await inviteTo('Late', 'late@example.com');
    await closed.sql`UPDATE dashboard_invitations SET expires_at = now() WHERE account_id = ${account.id}`;
    const page = await createVisitor(closed.baseUrl).get(path);
    expect([page.status, page.textOf('h1')]).toEqual([404, 'This link is not valid any more']);
  });
});

describe('the bare address', () => {
  test('says to a browser what the service is and costs, with the reference’s example and the way to an account', async () => {
    const document = (await (await fetch(`${open.baseUrl}/openapi/json`)).json()) as OpenApi;
    const { example } = document.paths['/companies/{nif}']!.get!.responses[200]!.content['application/json']!;
    for (const [language, lead] of [
      ['en', 'Find Portuguese companies by name or NIF'],
      ['pt', 'Encontre empresas portuguesas pelo nome ou NIF'],
    ] as const)
      for (const path of ['/', '/dashboard/sign-in', '/dashboard/sign-up']) {
        const page = await createVisitor(open.baseUrl, { language }).get(path, { Accept: 'text/html' });
        expect([path, page.status]).toEqual([path, 200]);
        expect(page.textOf('.lead')).toStartWith(lead);
        if (path === '/') {
          expect(JSON.parse(page.document.querySelector('.about pre')!.textContent!)).toEqual(example);
          expect(page.textOf('.about')).toMatch(/costs 1 credit|custa 1 crédito/);
        }
        const link = path === '/dashboard/sign-up' ? '/dashboard/sign-in' : '/dashboard/sign-up';
        expect(page.document.querySelector(`main a[href="${link}"]`)).not.toBeNull();
      }
  });

  test('leads any other client to the reference, and takes nothing', async () => {
    const client = createVisitor(open.baseUrl);
    for (const headers of [{}, { Accept: 'application/json' }])
      expect((await client.get('/', headers)).place()).toEqual([303, 'openapi']);
    const answer = await client.post('/', {}, { Accept: 'text/html' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
  });
});

test('an address without a page gives a page to browsers, and a problem to any other client', async () => {
  const ask = async (path: string, Accept: string) => {
    const answer = await fetch(open.baseUrl + path, { headers: { Accept } });
    return [answer.status, answer.headers.get('content-type')];
  };
  for (const path of ['/problems/x', '/nothing', '/dashboard/nothing']) {
    expect(await ask(path, 'text/html,*/*;q=0.8')).toEqual([404, 'text/html; charset=utf-8']);
  }
  for (const path of ['/problems/x', '/nothing', '/api/v1/nothing'])
    expect(await ask(path, '*/*')).toEqual([404, 'application/problem+json']);
  expect(await ask('/api/v1/nothing', 'text/html')).toEqual([404, 'application/problem+json']);
  expect(await ask('/openapi/', 'text/html')).toEqual([200, 'text/html; charset=utf-8']);
  expect(await ask('/favicon.ico', 'image/*')).toEqual([200, 'image/svg+xml']);
});

describe('a page that was asked for without a session', () => {
  test('opens after the sign-in', async () => {
    const { visitor: _, ...person } = await createMember(open);
    const visitor = createVisitor(open.baseUrl);
    const signIn = '/dashboard/sign-in?to=%2Fcredits%3Fdays%3D7';
    expect((await visitor.get('/dashboard/credits?days=7')).place()).toEqual([303, signIn]);
    const wrong = await visitor.submit(signIn, { ...person, password: 'wrong' });
    expect(wrong.document.querySelector('input[name=to]')!.getAttribute('value')).toBe('/credits?days=7');
    expect((await visitor.submit(signIn, { ...person })).place()).toEqual([303, '/dashboard/credits?days=7']);
    // In another tab that was open meanwhile.
    expect((await visitor.get(signIn)).place()).toEqual([303, '/dashboard/credits?days=7']);
  });

  test('is never on another site', async () => {
    const { visitor, ...person } = await createMember(open);
    const hosts = ['//evil.example', 'https://evil.example', '/\\evil.example', '.evil.example'];
    for (const to of [...hosts, '@evil.example', '/..']) {
      const address = `/dashboard/sign-in?to=${encodeURIComponent(to)}`;
      expect([to, ...(await visitor.get(address)).place()]).toEqual([to, 303, '/dashboard']);
      const answer = await createVisitor(open.baseUrl).submit('/dashboard/sign-in', { ...person, to });
      expect([to, ...answer.place()]).toEqual([to, 303, '/dashboard']);
    }
  });
});

describe('a form of a tab that is out of date', () => {
  test('sign-out without a session says that the member is signed out', async () => {
    const { visitor } = await createMember(open);
    const form_token = await formTokenOf(visitor, '/dashboard');
    const signedOut = '/dashboard/sign-in?done=out';
    for (const _ of ['with the session', 'without it'])
      expect((await visitor.post('/dashboard/sign-out', { form_token })).place()).toEqual([303, signedOut]);
    expect((await visitor.get(signedOut)).textOf('[role=status]')).toBe('You are signed out.');
  });

  test('a form of a member says that the session is over, and leads back to its page', async () => {
    const { visitor } = await createMember(open);
    const form_token = await formTokenOf(visitor, '/dashboard/keys');
    visitor.cookies.clear();
    const answer = await visitor.post('/dashboard/keys', { name: 'late', expires: '2099-12-31', form_token });
    expect([answer.status, answer.textOf('h1')]).toEqual([403, 'You were signed out']);
    // What was typed is on the page again after the sign-in.
    expect(answer.linksOf('.button')).toEqual([
      '/dashboard/sign-in?to=%2Fkeys%3Fname%3Dlate%26expires%3D2099-12-31',
    ]);
    await createMember(open, { visitor });
    const again = await visitor.get('/dashboard/sign-in?to=%2Fkeys%3Fname%3Dtoo%2Blate%26x%3D%25C3%25A9');
    const back = again.headers.get('location')!;
    expect(back).toBe('/dashboard/keys?name=too+late&x=%C3%A9');
    for (const [path, field, text] of [
      [back, '#name', 'too late'],
      ['/dashboard/keys?name=late&expires=2099-12-31', '#expires', '2099-12-31'],
      ['/dashboard/try?q=padaria', '#q', 'padaria'],
    ] as const) {
      const { document } = await visitor.get(path);
      expect([path, document.querySelector(field)!.getAttribute('value')]).toEqual([path, text]);
    }
  });
});

test('the language can be chosen on every page, and stays', async () => {
  const visitor = createVisitor(open.baseUrl);
  const page = await visitor.get('/dashboard/sign-up?x=1&days=7');
  const link = page.document.querySelector('footer [hreflang=pt]')!;
  expect([link.textContent, link.getAttribute('href')]).toEqual(['Português', '?lang=pt&x=1&days=7']);
  const chosen = await visitor.get(`/dashboard/sign-up${link.getAttribute('href')}`);
  expect(chosen.textOf('h1')).toBe('Criar conta');
  expect(chosen.headers.get('set-cookie')!.split('; ').sort()).toEqual([
    ...['HttpOnly', 'Max-Age=31536000', 'Path=/dashboard', 'SameSite=Lax', 'dashboard.language=pt'],
  ]);
  const later = await visitor.get('/dashboard/sign-in');
  expect(later.textOf('h1')).toBe('Iniciar sessão');
  expect(later.document.querySelector('footer [hreflang=en]')!.textContent).toBe('English');
  const wanted = { 'Accept-Language': 'pt' };
  await visitor.get('/dashboard/sign-in?lang=en', wanted);
  for (const query of ['', '?lang=xx'])
    expect((await visitor.get(`/dashboard/sign-in${query}`, wanted)).textOf('h1')).toBe('Sign in');
});
