import { expect, test } from 'bun:test';
import { unavailable } from '../../../src/http/answer.ts';
import { createListHandler, type Item } from '../../../src/metering/admission/list-handler.ts';
import { type CallContext, NOTHING_PAID } from '../../../src/metering/admission/quote.ts';
import { API_ROUTES } from '../../../src/service/endpoints.ts';

test('an item whose store fails after its credit was charged gets the credit back, and the others keep theirs', async () => {
  const nifs = ['found', 'away', 'late'];
  const items = nifs.map((asked): Item => {
    const answer = asked === 'found' ? ({ ok: true, json: '"debts":{}' } as const) : unavailable(asked);
    return { isCharged: true, answer: () => (asked === 'late' ? Promise.resolve(answer) : answer) };
  });
  const { quote } = createListHandler({
    route: API_ROUTES.find(({ path }) => path === '/debts')!,
    publicUrl: 'http://service',
    list: 'nifs',
    item: 'nif',
    max: 1000,
    quote: async () => ({ items }),
  });
  const quoted = await quote({ nifs }, {} as CallContext);
  expect(quoted.credits).toBe(3);
  const refunds: number[] = [];
  const answer = await quoted.answer({
    ...NOTHING_PAID,
    spent: 3,
    refund: (credits) => void refunds.push(credits),
  });
  expect(answer.ok && JSON.parse(answer.json).data.map(({ status }: { status: number }) => status)).toEqual([
    200, 503, 503,
  ]);
  expect(refunds).toEqual([2]);
});
