/** Forms and documents in flight, however many, keep nobody else from a page or an answer. Each waits until the test lets it go. */
import { afterAll, expect, spyOn, test } from 'bun:test';
import * as clientDocument from '../../src/dashboard/connections/client-document.ts';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { storeRecord } from '../support/records.ts';
import { createCaller } from '../support/service.ts';
import { until } from '../support/until.ts';
import { agentOf, openConsent } from './connections/agent.ts';
import { startDashboardService } from './service.ts';
import { createMember, createVisitor, formTokenOf, type Visitor } from './visitor.ts';

const NIF = '509442013';

const service = await startDashboardService();
await storeRecord(service.sql, NIF, 'Nexperience Lda');
afterAll(() => service.stop());

const newMember = async () => (await createMember(service)).visitor;
const newVisitor = async () => createVisitor(service.baseUrl);

// The queue of pages would take all forms with a password, and let four of them in.
test.each<[string, string, () => Promise<Visitor>, senders: number, forms: number, refusal: number]>([
  ['of one member', '/keys', newMember, 1, 150, 429],
  ['with a password, of visitors,', '/sign-in', newVisitor, 4, 27, 503],
  ['with a password, of members,', '/settings/members', newMember, 4, 27, 503],
])(
  'forms %s take two places, and none of a page of others or of the API',
  async (_, path, createSender, count, sent, refusal) => {
    const senders = await Promise.all(Array.from({ length: count }, createSender));
    const tokens = await Promise.all(senders.map((sender) => formTokenOf(sender, `/dashboard${path}`)));
    const [member, visitor, { key }] = [
      await newMember(),
      await newVisitor(),
      await createCaller(service.sql),
    ];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { POST } = ROUTES[path]!;
    let held = 0;
    ROUTES[path]!.POST = async () => {
      held += 1;
      await released;
      return { redirect: '/dashboard' };
    };
    const statuses: number[] = [];
    const send = async (_: unknown, index: number) => {
      const at = index % count;
      const { status } = await senders[at]!.post(`/dashboard${path}`, { form_token: tokens[at] });
      statuses.push(status);
    };
    const forms = Array.from({ length: sent }, send);
    try {
      // It comes when all tokens of the member, or all places and the queue, are taken.
      await until('a refusal', () => statuses.length > 0);
      const ask = (path: string) =>
        fetch(service.url + path, { headers: { Authorization: `Bearer ${key}` } });
      const answers = await Promise.all([
        ...[member.get('/dashboard'), visitor.get('/dashboard/sign-in')],
        ...[ask('/usage'), ask(`/companies/${NIF}`)],
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect([held, [...new Set(statuses)]]).toEqual([2, [refusal]]);
    } finally {
      release();
      await Promise.all(forms);
      ROUTES[path]!.POST = POST as never;
    }
  },
);

test('agents whose documents are late take no place of a page', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let reads = 0;
  const reading = spyOn(clientDocument, 'createClientReader').mockReturnValue(async () => {
    reads += 1;
    await released;
    throw new clientDocument.ClientError('late');
  });
  const agent = agentOf('https://agent.example/client.json', 'https://agent.example/');
  const consents = [1, 2, 3, 4].map(async () => {
    const member = await newMember();
    return member.get(await openConsent(member, agent));
  });
  try {
    await until('all documents', () => reads === consents.length);
    expect((await (await newMember()).get('/dashboard')).status).toBe(200);
  } finally {
    release();
    for (const { status } of await Promise.all(consents)) expect(status).toBe(400);
    reading.mockRestore();
  }
});
