import { expect, test } from 'bun:test';
import { readJson } from '../../src/http/body.ts';

const NEVER = new AbortController().signal;
const HEADERS = { 'Content-Type': 'application/json' };

test('a body that trickles in is not valid after its time, however much of it came', async () => {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(1);
      controller.enqueue(new TextEncoder().encode(sent === 0 ? '{"nifs":["500002576"]' : ' '));
      sent += 1;
    },
  });
  const request = new Request('http://service/', { method: 'POST', headers: HEADERS, body });
  expect(await readJson(request, NEVER, 50)).toEqual({ json: null, sent: 'too slow' });
  expect(sent).toBeGreaterThan(1);
});

test('a byte order mark does not matter', async () => {
  const body = '\ufeff{"a":1,"nifs":["500002576","x"],"b":[{}]}';
  const request = new Request('http://service/', { method: 'POST', headers: HEADERS, body });
  expect(await readJson(request, NEVER)).toMatchObject({ json: { a: 1, nifs: ['500002576', 'x'], b: [{}] } });
});
