/** Where a visitor gets to: from a bare address, a deep link, a form that is out of date; and in which language. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { OpenApi } from '../../../src/http/openapi.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor, formTokenOf, newPerson, signUp } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

const placeOf = ({ status, headers }: { status: number; headers: Headers }) => [
  status,
  headers.get('location'),
];

describe('the bare address', () => {
  const open = (headers: Record<string, string>, method = 'GET') =>
    fetch(`${service.baseUrl}/`, { method, headers, redirect: 'manual' });

  test('says to a browser what the service is and costs, with the reference’s example and the way to an account', async () => {
    const document = (await (await fetch(`${service.baseUrl}/openapi/json`)).json()) as OpenApi;
    const { example } = document.paths['/companies/{nif}']!.get!.responses[200]!.content['application/json']!;
    for (const [language, lead] of [
      ['en', 'Find Portuguese companies by name or NIF'],
      ['pt', 'Encontre empresas portuguesas pelo nome ou NIF'],
    ] as const)
      for (const path of ['/', '/dashboard/sign-in', '/dashboard/sign-up']) {
        const page = await createVisitor(service.baseUrl, { language }).get(path, { Accept: 'text/html' });
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
    for (const headers of [{}, { Accept: 'application/json' }]) {
      const answer = await open(headers);
      expect([answer.status, answer.headers.get('location')]).toEqual([303, 'openapi']);
    }
    const answer = await open({ Accept: 'text/html' }, 'POST');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
  });
});

test('an address without a page gives a page to browsers, and a problem to any other client', async () => {
  const open = async (path: string, Accept: string) => {
    const answer = await fetch(service.baseUrl + path, { headers: { Accept } });
    return [answer.status, answer.headers.get('content-type')];
  };
  for (const path of ['/problems/x', '/nothing', '/dashboard/nothing']) {
    expect(await open(path, 'text/html,*/*;q=0.8')).toEqual([404, 'text/html; charset=utf-8']);
  }
  for (const path of ['/problems/x', '/nothing', '/api/v1/nothing'])
    expect(await open(path, '*/*')).toEqual([404, 'application/problem+json']);
  expect(await open('/api/v1/nothing', 'text/html')).toEqual([404, 'application/problem+json']);
  expect(await open('/openapi/', 'text/html')).toEqual([200, 'text/html; charset=utf-8']);
  expect(await open('/favicon.ico', 'image/*')).toEqual([200, 'image/svg+xml']);
});

describe('a page that was asked for without a session', () => {
  test('opens after the sign-in', async () => {
    const person = newPerson();
    await signUp(createVisitor(service.baseUrl), person);
    const visitor = createVisitor(service.baseUrl);
    const refused = await visitor.get('/dashboard/credits?days=7');
    const signIn = refused.headers.get('location')!;
    expect(signIn).toBe('/dashboard/sign-in?to=%2Fcredits%3Fdays%3D7');
    const wrong = await visitor.submit(signIn, { ...person, password: 'wrong' });
    expect(wrong.document.querySelector('input[name=to]')!.getAttribute('value')).toBe('/credits?days=7');
    expect(placeOf(await visitor.submit(signIn, { ...person }))).toEqual([303, '/dashboard/credits?days=7']);
    // In another tab that was open meanwhile.
    expect(placeOf(await visitor.get(signIn))).toEqual([303, '/dashboard/credits?days=7']);
  });

  test('is never on another site', async () => {
    const { visitor, ...person } = await createMember(service);
    for (const to of [
      '//evil.example',
      'https://evil.example',
      '/\\evil.example',
      '.evil.example',
      '@evil.example',
      '/..',
    ]) {
      const address = `/dashboard/sign-in?to=${encodeURIComponent(to)}`;
      expect([to, ...placeOf(await visitor.get(address))]).toEqual([to, 303, '/dashboard']);
      const answer = await createVisitor(service.baseUrl).submit('/dashboard/sign-in', { ...person, to });
      expect([to, ...placeOf(answer)]).toEqual([to, 303, '/dashboard']);
    }
  });
});

describe('a form of a tab that is out of date', () => {
  test('sign-out without a session says that the member is signed out', async () => {
    const { visitor } = await createMember(service);
    const form_token = await formTokenOf(visitor, '/dashboard');
    for (const _ of ['with the session', 'without it'])
      expect(placeOf(await visitor.post('/dashboard/sign-out', { form_token }))).toEqual([
        ...[303, '/dashboard/sign-in?done=out'],
      ]);
    expect((await visitor.get('/dashboard/sign-in?done=out')).textOf('[role=status]')).toBe(
      'You are signed out.',
    );
  });

  test('a form of a member says that the session is over, and leads back to its page', async () => {
    const { visitor } = await createMember(service);
    const form_token = await formTokenOf(visitor, '/dashboard/keys');
    visitor.cookies.clear();
    const answer = await visitor.post('/dashboard/keys', { name: 'late', expires: '2099-12-31', form_token });
    expect([answer.status, answer.textOf('h1')]).toEqual([403, 'You were signed out']);
    // What was typed is on the page again after the sign-in.
    expect(answer.document.querySelector('.button')!.getAttribute('href')).toBe(
      '/dashboard/sign-in?to=%2Fkeys%3Fname%3Dlate%26expires%3D2099-12-31',
    );
    await createMember(service, { visitor });
    const again = await visitor.get('/dashboard/sign-in?to=%2Fkeys%3Fname%3Dtoo%2Blate%26x%3D%25C3%25A9');
    const back = again.headers.get('location')!;
    expect(back).toBe('/dashboard/keys?name=too+late&x=%C3%A9');
    const page = await visitor.get(back);
    expect(page.document.querySelector('#name')!.getAttribute('value')).toBe('too late');
    const dated = await visitor.get('/dashboard/keys?name=late&expires=2099-12-31');
    expect(dated.document.querySelector('#expires')!.getAttribute('value')).toBe('2099-12-31');
    expect(
      (await visitor.get('/dashboard/try?q=padaria')).document.querySelector('#q')!.getAttribute('value'),
    ).toBe('padaria');
  });
});

describe('the language', () => {
  test('can be chosen on every page, and stays', async () => {
    const visitor = createVisitor(service.baseUrl);
    const page = await visitor.get('/dashboard/sign-up?x=1&days=7');
    const link = page.document.querySelector('footer [hreflang=pt]')!;
    expect([link.textContent, link.getAttribute('href')]).toEqual(['Português', '?lang=pt&x=1&days=7']);
    const chosen = await visitor.get(`/dashboard/sign-up${link.getAttribute('href')}`);
    expect(chosen.textOf('h1')).toBe('Criar conta');
    expect(chosen.headers.get('set-cookie')!.split('; ').sort()).toEqual([
      'HttpOnly',
      'Max-Age=31536000',
      'Path=/dashboard',
      'SameSite=Lax',
      'dashboard.language=pt',
    ]);
    const later = await visitor.get('/dashboard/sign-in');
    expect(later.textOf('h1')).toBe('Iniciar sessão');
    expect(later.document.querySelector('footer [hreflang=en]')!.textContent).toBe('English');
    await visitor.get('/dashboard/sign-in?lang=en', { 'Accept-Language': 'pt' });
    expect((await visitor.get('/dashboard/sign-in', { 'Accept-Language': 'pt' })).textOf('h1')).toBe(
      'Sign in',
    );
    expect((await visitor.get('/dashboard/sign-in?lang=xx')).textOf('h1')).toBe('Sign in');
  });
});
