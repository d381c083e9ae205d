/** The reference for people: `/openapi`, and the same in the dashboard. */

import { afterAll, expect, test } from 'bun:test';
import type { OpenApi } from '../../../src/http/openapi.ts';
import { PROBLEMS } from '../../../src/http/problems.ts';
import { createCaller, createTestKey } from '../../support/service.ts';
import { startBrowsedDashboard } from '../browser.ts';
import { createMember, createVisitor } from '../visitor.ts';

const { service, dashboard, browsing, stop } = await startBrowsedDashboard();
afterAll(() => stop());

const operationsOf = async () => {
  const document = (await (await fetch(`${service.baseUrl}/openapi/json`)).json()) as OpenApi;
  return Object.values(document.paths).flatMap((methods) => Object.values(methods));
};

test('has the headings of every endpoint, and every problem, in Portuguese, too, descriptions marked as English, and nothing from elsewhere', async () => {
  const operations = await operationsOf();
  const visitor = createVisitor(service.baseUrl, { language: 'pt' });
  const page = await visitor.get('/openapi');
  expect(page.document.documentElement.getAttribute('lang')).toBe('pt-PT');
  for (const { operationId, description, 'x-pt': pt } of operations) {
    const endpoint = page.document.querySelector(`.halves[aria-labelledby=${operationId}]`)!;
    expect(endpoint.querySelector('h2')!.textContent).toBe(pt.summary);
    expect(endpoint.querySelector('.badge')!.textContent).toBe(pt.cost);
    const english = endpoint.querySelector('p[lang=en]')!.textContent;
    expect(description.replaceAll('`', '')).toStartWith(english);
  }
  for (const kind of Object.keys(PROBLEMS)) expect(page.text).toContain(`<code>${kind}</code>`);
  const loaded = [
    ...page.text.matchAll(/<(?:script|link|img|iframe|object|embed)\b[^>]*(?:src|href)="([^"]*)"/gi),
  ];
  expect(loaded.length).toBe(4);
  for (const [, address] of loaded) expect(address).toStartWith('/dashboard/assets/');
  expect(page.text).not.toMatch(/@import|url\(\s*["']?(?:https?:)?\/\//i);
  expect(await visitor.textAt('/openapi?lang=en', 'h1')).toBe('API reference');
  expect(await visitor.textAt('/problems/validation', 'h1')).toBe(PROBLEMS.validation.pt.title);
  expect((await visitor.get('/problems/nothing')).status).toBe(404);
});

test('leads a visitor to an account, and is kept without what the first visitor’s address had', async () => {
  const get = (path: string) => createVisitor(service.baseUrl).get(path);
  expect((await get('/openapi')).textOf('.bar a[href="/dashboard/sign-up"]')).toBe('Create an account');
  for (const path of ['/openapi', '/problems/search-failed']) {
    await get(`${path}?lang=en&to=/evil.example/FREE&token=x&days=7&done=password`);
    const page = await get(`${path}?lang=en`);
    expect(page.document.querySelector('footer a[hreflang]')!.getAttribute('href')).toBe('?lang=pt');
    expect(page.text).not.toContain('evil');
  }
});

test('is in the navigation of the dashboard', async () => {
  const { visitor } = await createMember(service);
  const page = await visitor.get('/dashboard/reference');
  expect(page.textOf('nav [aria-current]')).toBe('Reference');
  const operations = await operationsOf();
  expect(page.document.querySelectorAll('.halves').length).toBe(operations.length);
  const targets = page.linksOf('.side a');
  expect(targets).toContain(`#${operations[0]!.operationId}`);
  expect(targets.filter((target) => page.document.querySelector(target!) === null)).toEqual([]);
});

/** Usage without what the clock decides: the days of the account's period, and when it ends. */
const timeless = (body: unknown) =>
  JSON.stringify(body, null, 2)
    .replaceAll(/"resetAt": "[^"]*"/g, '"resetAt": "an instant"')
    .replaceAll(/"(start|end)": "\d{4}-\d\d-\d\d"/g, '"$1": "a day"');

const spawn = (command: string[], API_KEY: string) =>
  Bun.spawn(command, { env: { ...process.env, API_KEY }, stdout: 'pipe', stderr: 'pipe' });

test('shows an example in three languages, which prints the answer beside it with a test key', async () => {
  const { document } = await createVisitor(service.baseUrl).get('/openapi?lang=en');
  for (const { operationId, responses } of await operationsOf()) {
    const sample = (language: string) =>
      document.querySelector(`#sample-${operationId}-${language}`)!.textContent!;
    for (const language of ['curl', 'javascript', 'python']) expect(sample(language)).toContain(service.url);
    const commands = [
      ['sh', '-c', sample('curl')],
      [process.execPath, '-e', sample('javascript')],
    ];
    for (const command of commands) {
      // One account for each, because of the limit of a minute.
      const { accountId } = await createCaller(service.sql);
      const run = spawn(command, await createTestKey(service.sql, accountId));
      const [output, code] = [(await run.stdout.json()) as { data: object }, await run.exited];
      expect([operationId, code]).toEqual([operationId, 0]);
      const example = responses[200]!.content['application/json']!.example as typeof output;
      // Each key has its own values.
      if (operationId === 'getKey') expect(Object.keys(output.data)).toEqual(Object.keys(example.data));
      else expect(timeless(output)).toBe(timeless(example));
    }
  }
});

test('an example fails when the API answers a problem', async () => {
  const { document } = await createVisitor(service.baseUrl).get('/openapi?lang=en');
  const program = document.querySelector('#sample-getUsage-javascript')!.textContent!;
  const run = spawn([process.execPath, '-e', program], 'svc_x');
  expect(await run.stderr.text()).toContain('unauthorized');
  expect(await run.exited).not.toBe(0);
});

test('shows the headers of answers, and what a list is of', async () => {
  const { textsOf } = await createVisitor(service.baseUrl).get('/openapi?lang=en');
  const cells = textsOf('.reference :is(th, td)');
  const shown = ['RateLimit-Reset', 'Retry-After', 'X-Record-Source', '(string | integer)[]'];
  expect(cells).toEqual(expect.arrayContaining([...shown, '("tax" | "social_security")[]']));
  expect(cells.filter((cell) => cell?.includes('Absent'))).toEqual([]);
});

test.each([1280, 360])(
  'at %d pixels it is accessible, and one choice of a language is for all examples',
  (width) =>
    browsing.asMember({ viewport: { width, height: 800 }, locale: 'pt-PT' }, async (page) => {
      await page.goto(`${service.baseUrl}/openapi`);
      expect(await page.isVisible('.side a')).toBe(width === 1280);
      // As it is before the choice, every-page.ts has axe look at it.
      await page.goto(dashboard('/reference'));
      expect(await page.locator('[data-sample=python]:visible').count()).toBe(0);
      await page.click('label:has-text("Python")');
      const count = (await operationsOf()).length;
      expect(await page.locator('[data-sample=python]:visible').count()).toBe(count);
      expect(await page.locator('[data-sample=curl]:visible').count()).toBe(0);
      await browsing.inspect(page);
    }),
);

test.each(['/openapi', '/openapi/json', '/problems/not-found'])(
  'a network has 600 requests a minute for %s',
  async (path) => {
    const ask = (address: string) =>
      fetch(service.baseUrl + path, { headers: { 'X-Forwarded-For': address } });
    const address = `198.51.100.${path.length}`;
    let answer = await ask(address);
    let sent = 1;
    for (; answer.status !== 429; sent += 1) {
      expect([200, 404]).toContain(answer.status);
      if (sent > 2000) throw new Error('it has no bound');
      await answer.arrayBuffer();
      answer = await ask(address);
    }
    expect([sent > 600, answer.headers.get('retry-after')]).toEqual([true, '1']);
    expect(((await answer.json()) as { type: string }).type).toEndWith('/problems/rate-limit-exceeded');
    expect((await ask('198.51.100.200')).status).not.toBe(429);
  },
);
