import { afterAll, expect, test } from 'bun:test';
import { startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import { nifPtFound } from '../../support/provider.ts';

const api = await startApi();
api.provider.answerAll((nif) => nifPtFound(nif));
const { key } = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
afterAll(() => api.stop());
const look = (path: string) => ask(api, `/companies/${path}`, { key });

test.each([
  ['500002576', 500002576],
  ['%20500%C2%A0002%E2%80%AF576%20', 500002576],
  ['5-0.0%200--0..2%20%20576', 500002576],
  ['5%30%30002576?q=1', 500002576],
  ['012%20345%20679', 12345679],
  ['000000000', 0],
])(
  '%s is the NIF %d: all spellings are one company, of which nine digits are asked',
  async (path, number) => {
    const digits = String(number).padStart(9, '0');
    for (const spelling of [path, digits]) {
      const { status, body } = await look(spelling);
      expect([status, body.data?.nif]).toEqual([200, number]);
    }
    expect(api.provider.lookups().filter(({ nif }) => nif === digits)).toHaveLength(1);
  },
);

test.each([
  ...['PT500002576', '500002577', '500+002+576', '500002576%00', '500002576%0A', "500002576'--", '%20'],
  ...['%', '%E0%A4%A', '500002576%', '1'.repeat(8000), '\uff15'.repeat(9)],
])('%s is a 400, and no source is asked', async (path) => {
  const before = api.provider.lookups().length;
  const { status, kind } = await look(path);
  expect([status, kind]).toEqual([400, 'validation']);
  expect(api.provider.lookups()).toHaveLength(before);
});
