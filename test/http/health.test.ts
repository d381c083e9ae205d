import { expect, test } from 'bun:test';
import { createHealth } from '../../src/http/health.ts';

test('those who ask for readiness at once share one question; whoever comes after it is a new one', async () => {
  let asked = 0;
  let answer = () => {};
  const check = () => {
    asked += 1;
    return new Promise<void>((resolve) => {
      answer = resolve;
    });
  };
  const health = createHealth([{ name: 'postgres', required: true, check }], () => false);
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
  const health = createHealth(
    [{ name: 'postgres', required: true, check: () => answers.shift()! }],
    () => false,
  );
  const crowd = await Promise.all([health.ready(), health.ready()]);
  expect(crowd.map(({ status }) => status)).toEqual([503, 503]);
  expect((await health.ready()).status).toBe(200);
});
