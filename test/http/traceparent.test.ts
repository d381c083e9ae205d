import { afterAll, expect, test } from 'bun:test';
import { ok, problem } from '../../src/http/answer.ts';
import { createObserver } from '../../src/http/observe.ts';
import { traceIdOf } from '../../src/http/traceparent.ts';
import { createLogTo } from '../../src/platform/observability/log.ts';
import { createMetrics } from '../../src/platform/observability/metrics.ts';
import { nif } from '../support/companies.ts';
import { nifPtFound, startProvider } from '../support/provider.ts';
import { createCaller, startTestService } from '../support/service.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test.each([
  [`00-${TRACE}-${SPAN}-01`, TRACE],
  [`00-${TRACE}-${SPAN}-00`, TRACE],
  [`01-${TRACE}-${SPAN}-01-what-comes-later`, TRACE],
  [`cc-${TRACE}-${SPAN}-01`, TRACE],
  [`00-${TRACE}-${SPAN}-01-more`, undefined],
  [`ff-${TRACE}-${SPAN}-01`, undefined],
  [`00-${'0'.repeat(32)}-${SPAN}-01`, undefined],
  [`00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
  [`00-${TRACE.toUpperCase()}-${SPAN}-01`, undefined],
  [`00-${TRACE.slice(1)}-${SPAN}-01`, undefined],
  [`00-${TRACE}-${SPAN}`, undefined],
  [`01-${TRACE}-${SPAN}-01-${'x'.repeat(300)}`, undefined],
  ['"}', undefined],
  ['', undefined],
])('the traceparent %p gives the trace %p', (given, expected) => {
  expect(traceIdOf(new Headers({ traceparent: given }))).toBe(expected);
});

test('no header gives no trace', () => expect(traceIdOf(new Headers())).toBeUndefined());

const provider = await startProvider();
const service = await startTestService({ env: { NIF_PT_URL: provider.url, NIF_PT_KEY: 'a-key' } });
afterAll(async () => {
  await service.stop();
  await provider.close();
});

test('the line of a request has the trace of its traceparent, and one without has none', async () => {
  const { key } = await createCaller(service.sql);
  const ask = (headers: Record<string, string>) =>
    fetch(`${service.url}/usage`, { headers: { Authorization: `Bearer ${key}`, ...headers } });
  const lines = () => service.logLines.filter(({ route }) => route === '/api/v1/usage');
  await ask({ traceparent: `00-${TRACE}-${SPAN}-01` });
  await ask({});
  await ask({ traceparent: `00-${TRACE}-${SPAN}` });
  expect(lines().map(({ trace_id }) => trace_id)).toEqual([TRACE, undefined, undefined]);
});

test('a source gets no trace of the request', async () => {
  const { key } = await createCaller(service.sql);
  provider.answer(nif(1), nifPtFound(nif(1)));
  const headers = {
    Authorization: `Bearer ${key}`,
    traceparent: `00-${TRACE}-${SPAN}-01`,
    tracestate: 'a=b',
  };
  expect((await fetch(`${service.url}/companies/${nif(1)}`, { headers })).status).toBe(200);
  const sent = JSON.stringify(provider.requests);
  expect(sent).toContain(nif(1));
  expect(sent).not.toMatch(/trace|4bf92f35/);
});

test('health checks that succeed have no log line; those that fail have one, as every other request has', async () => {
  const lines: { route: string; status: number }[] = [];
  const log = createLogTo({ write: (line) => void lines.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const { observe } = createObserver({ publicUrl: 'http://service', log, metrics });
  const request = new Request('http://service/');
  for (const route of ['/health/live', '/health/ready', '/api/v1/usage']) {
    await observe(request, route, () => ok({}));
    await observe(request, route, () => problem('service-unavailable'));
  }
  await observe(request, '/health/ready', () => new Response(null, { status: 503 }));
  expect(lines.map(({ route, status }) => [route, status])).toEqual([
    ['/health/live', 503],
    ['/health/ready', 503],
    ['/api/v1/usage', 200],
    ['/api/v1/usage', 503],
    ['/health/ready', 503],
  ]);
  expect(await metrics.text()).toMatch(/http_requests_total\{route="\/health\/live",status="200"\} 1/);
});
