import { expect, test } from 'bun:test';
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
    const service = await startTestService({ env: { PUBLIC_URL: publicUrl } });
    try {
      const { key } = await createCaller(service.sql);
      for (const [method, path] of REQUESTS) {
        for (const headers of [{ Authorization: `Bearer ${key}` }, {}] as Record<string, string>[]) {
          const response = await fetch(service.baseUrl + path, { method, headers, redirect: 'manual' });
          const { status } = response;
          const given = response.headers.get('strict-transport-security');
          expect([method, path, status, given]).toEqual([method, path, status, expected]);
        }
      }
    } finally {
      await service.stop();
    }
  });
}
