import { expect, test } from 'bun:test';
import { createVisitor, formTokenOf, newPerson } from '../dashboard/visitor.ts';
import { createCaller, startTestService } from '../support/service.ts';

/** One of every kind of answer: of the API with and without success, pages, the dashboard, what no route has. */
const REQUESTS: [method: string, path: string][] = [
  ['GET', '/api/v1/companies?q=abaco'],
  ['GET', '/api/v1/usage'],
  ['GET', '/api/v1/companies/500000001'],
  ['POST', '/api/v1/usage'],
  ['GET', '/health/live'],
  ['GET', '/openapi'],
  ['GET', '/openapi/json'],
  ['GET', '/problems/validation'],
  ['GET', '/metrics'],
  ['GET', '/nothing'],
  ['GET', '/dashboard'],
  ['GET', '/dashboard/sign-in'],
  ['POST', '/dashboard/sign-in'],
  ['GET', '/dashboard/nothing'],
];

for (const [publicUrl, expected] of [
  ['https://api.example.pt', 'max-age=31536000'],
  ['http://api.example.pt', null],
] as const) {
  test(`with ${publicUrl} every answer has ${expected ?? 'no'} Strict-Transport-Security`, async () => {
    await using service = await startTestService({ env: { PUBLIC_URL: publicUrl } });
    const { key } = await createCaller(service.sql);
    for (const [method, path] of REQUESTS) {
      for (const headers of [{ Authorization: `Bearer ${key}` }, {}] as Record<string, string>[]) {
        const response = await fetch(service.baseUrl + path, { method, headers, redirect: 'manual' });
        const { status } = response;
        const given = response.headers.get('strict-transport-security');
        expect([method, path, status, given]).toEqual([method, path, status, expected]);
      }
    }
  });
}

test('with https every cookie of the dashboard is sent over TLS alone, and a sign-up opens a session', async () => {
  const publicUrl = 'https://api.example.pt';
  await using service = await startTestService({ env: { PUBLIC_URL: publicUrl, SIGN_UP: 'open' } });
  const visitor = createVisitor(service.baseUrl);
  const person = newPerson();
  const form_token = await formTokenOf(visitor, '/dashboard/sign-up?lang=en');
  const form = { ...person, form_token };
  const signedUp = await visitor.post('/dashboard/sign-up', form, { Origin: publicUrl });
  expect(signedUp.status).toBe(303);
  const page = await visitor.get('/dashboard');
  expect([page.status, [...visitor.cookies.keys()].toSorted()]).toEqual([
    200,
    ['__Secure-dashboard.session_token', 'dashboard.browser', 'dashboard.form', 'dashboard.language'],
  ]);
  for (const { headers } of [signedUp, page])
    for (const cookie of headers.getSetCookie())
      expect([
        cookie,
        /; HttpOnly/i.test(cookie),
        /; Secure/i.test(cookie),
        /; Path=\/dashboard/i.test(cookie),
      ]).toEqual([cookie, true, true, true]);
});
