import { expect, test } from 'bun:test';
import { type Client, errors } from '@elastic/elasticsearch';
import { sendBulk } from '../../../src/companies/directory/indexing/bulk.ts';
import { MINUTE, SECOND } from '../../../src/platform/units.ts';

type State = 'busy' | 'gone' | 'well' | 'wrong';

/** Sends to an Elasticsearch whose state depends on the time. @returns when that ended, whether it was sent, and the tries */
async function sendTo(stateAt: (ms: number, tries: number) => State) {
  let nowMs = 0;
  let tries = 0;
  const item = (type: string) => ({ errors: true, items: [{ index: { error: { type } } }] });
  const request = async () => {
    tries += 1;
    const state = stateAt(nowMs, tries);
    if (state === 'gone') throw new errors.ConnectionError('reset');
    if (state === 'busy') return item('es_rejected_execution_exception');
    return state === 'wrong' ? item('mapper_parsing_exception') : { errors: false };
  };
  const clock = {
    nowMs: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms;
    },
  };
  const client = { transport: { request } } as unknown as Client;
  const error = await sendBulk(client, 'i', Buffer.from(''), new AbortController().signal, clock).then(
    () => null,
    (reason: Error) => reason.message,
  );
  return { ms: nowMs, tries, error };
}

test('a busy Elasticsearch is waited out for minutes', async () => {
  expect((await sendTo((ms) => (ms < 4 * MINUTE ? 'busy' : 'well'))).error).toBeNull();
  const { ms, error } = await sendTo(() => 'busy');
  expect(error).toContain('es_rejected_execution_exception');
  expect(ms).toBeCloseTo(5 * MINUTE);
});

test('one that is away is waited out for ten seconds, and no longer', async () => {
  expect((await sendTo((ms) => (ms < 9.9 * SECOND ? 'gone' : 'well'))).error).toBeNull();
  const { ms, error } = await sendTo(() => 'gone');
  expect(error).toBe('reset');
  expect(ms).toBeCloseTo(10 * SECOND);
});

test('one that goes away after a busy spell has all of its ten seconds, and as many tries', async () => {
  const busyMs = 2 * MINUTE;
  let goneAtMs = 0;
  let busyTries = 0;
  const away = await sendTo((ms, tries) => {
    if (ms < busyMs) return 'busy';
    goneAtMs ||= ms;
    busyTries ||= tries;
    return ms < goneAtMs + 9.9 * SECOND ? 'gone' : 'well';
  });
  expect(away.error).toBeNull();
  expect(away.ms - goneAtMs).toBeWithin(9.9 * SECOND, 10 * SECOND + 1);
  // A pause takes 0.75 s at most, also after a long busy spell.
  expect(away.tries - busyTries).toBeGreaterThan(12);
});

test('an end comes also when busy and away take turns', async () => {
  const { ms, error } = await sendTo((_, tries) => (tries % 2 === 0 ? 'busy' : 'gone'));
  expect(error).not.toBeNull();
  expect(ms).toBeWithin(5 * MINUTE - 1, 5 * MINUTE + 10 * SECOND);
});

test('what repeating does not mend is not repeated', async () => {
  expect(await sendTo(() => 'wrong')).toMatchObject({ ms: 0, tries: 1 });
});
