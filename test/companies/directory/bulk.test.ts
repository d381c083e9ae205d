import { expect, test } from 'bun:test';
import { type Client, errors } from '@elastic/elasticsearch';
import { sendBulk } from '../../../src/companies/directory/indexing/bulk.ts';
import { messageOf } from '../../../src/platform/errors.ts';
import { MINUTE, SECOND } from '../../../src/platform/units.ts';

type State = 'busy' | 'gone' | 'well' | 'wrong';

const BUSY = 'es_rejected_execution_exception';
const WRONG = 'mapper_parsing_exception';

/** Sends to an Elasticsearch whose state depends on the time. @returns how long it was sent, how often, and the last error */
async function sendTo(stateAt: (ms: number, tries: number) => State) {
  let nowMs = 0;
  let tries = 0;
  const item = (type: string) => ({ errors: true, items: [{ index: { error: { type } } }] });
  const request = async () => {
    tries += 1;
    const state = stateAt(nowMs, tries);
    if (state === 'gone') throw new errors.ConnectionError('reset');
    if (state === 'well') return { errors: false };
    return item(state === 'busy' ? BUSY : WRONG);
  };
  const sleep = async (ms: number) => {
    nowMs += ms;
  };
  const client = { transport: { request } } as unknown as Client;
  const { signal } = new AbortController();
  const sending = sendBulk(client, 'i', Buffer.from(''), signal, { nowMs: () => nowMs, sleep });
  return { error: await sending.then(() => null, messageOf), ms: nowMs, tries };
}

test.each<[string, (ms: number, tries: number) => State, string | null, leastMs: number, mostMs: number]>([
  [
    'busy for 4 minutes is waited out',
    (ms) => (ms < 4 * MINUTE ? 'busy' : 'well'),
    null,
    4 * MINUTE,
    5 * MINUTE,
  ],
  ['busy is waited out for 5 minutes', () => 'busy', BUSY, 5 * MINUTE, 5 * MINUTE],
  ['away for 9.9 seconds is waited out', (ms) => (ms < 9_900 ? 'gone' : 'well'), null, 9_900, 10 * SECOND],
  ['away is waited out for 10 seconds', () => 'gone', 'reset', 10 * SECOND, 10 * SECOND],
  [
    'busy and away in turn is an end',
    (_, tries) => (tries % 2 === 0 ? 'busy' : 'gone'),
    '',
    5 * MINUTE,
    5 * MINUTE + 10 * SECOND,
  ],
  ['refusing an entry for itself is not asked again', () => 'wrong', WRONG, 0, 0],
])('an Elasticsearch that is %s', async (_, stateAt, error, leastMs, mostMs) => {
  const outcome = await sendTo(stateAt);
  expect(outcome.error).toEqual(error === null ? null : expect.stringContaining(error));
  expect(outcome.ms).toBeWithin(leastMs - 1, mostMs + 1);
  if (mostMs === 0) expect(outcome.tries).toBe(1);
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
