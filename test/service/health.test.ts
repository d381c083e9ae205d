import { expect, test } from 'bun:test';
import { createLogTo } from '../../src/platform/observability/log.ts';
import type { Probe } from '../../src/platform/observability/probe.ts';
import { createHealth } from '../../src/service/health.ts';

const lines: Record<string, unknown>[] = [];
const log = createLogTo({ write: (line) => void lines.push(JSON.parse(line)) });

/** Readiness of one required dependency. */
const healthOf = (check: Probe['check']) =>
  createHealth([{ name: 'postgres', required: true, check }], () => false, log);

test('those who ask for readiness at once share one question; whoever comes after it is a new one', async () => {
  let asked = 0;
  let answer = () => {};
  const check = () => {
    asked += 1;
    return new Promise<void>((resolve) => {
      answer = resolve;
    });
  };
  const health = healthOf(check);
  for (const round of [1, 2]) {
    const crowd = Array.from({ length: 100 }, () => health.ready());
    expect(asked).toBe(round);
    answer();
    for (const response of await Promise.all(crowd)) {
      expect(await response.json()).toEqual({
        status: 'ready',
        dependencies: { postgres: { status: 'up' } },
      });
    }
  }
});

test('a dependency that fails is down for everybody who asked, and asked again by the next', async () => {
  const answers = [Promise.reject(new Error('away')), Promise.resolve()];
  const health = healthOf(() => answers.shift()!);
  const crowd = await Promise.all([health.ready(), health.ready()]);
  expect(crowd.map(({ status }) => status)).toEqual([503, 503]);
  expect((await health.ready()).status).toBe(200);
});

test('the log says once why a dependency is down, and once that it is up again', async () => {
  lines.length = 0;
  const refused = Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    query: 'SELECT 1',
  });
  const outcomes = [null, refused, new Error('still away'), null, null, refused];
  const health = healthOf(async () => {
    const error = outcomes.shift();
    if (error) throw error;
  });
  for (const status of [200, 503, 503, 200, 200, 503]) expect((await health.ready()).status).toBe(status);
  const down = {
    level: 40,
    dependency: 'postgres',
    err: { type: 'Error', code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' },
    msg: 'a dependency is down',
  };
  expect(lines).toMatchObject([
    down,
    { level: 30, dependency: 'postgres', msg: 'a dependency is up again' },
    down,
  ]);
  expect(JSON.stringify(lines)).not.toContain('SELECT');
});

test('what a dependency warns of is shown also while it is down', async () => {
  const check = () => Promise.reject(new Error('a standby'));
  const warning = () => 'run something';
  const health = createHealth([{ name: 'postgres', required: true, check, warning }], () => false, log);
  const answer = await health.ready();
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({
    status: 'unavailable',
    dependencies: { postgres: { status: 'down', warning: 'run something' } },
  });
});
