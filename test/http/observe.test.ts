/** The log line of each request (src/http/observe.ts). */
import { expect, test } from 'bun:test';
import { ok, problem } from '../../src/http/answer.ts';
import { createObserver } from '../../src/http/observe.ts';
import { createLogTo } from '../../src/platform/observability/log.ts';
import { createMetrics } from '../../src/platform/observability/metrics.ts';

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
