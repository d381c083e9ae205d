/** `DEBT_CHANGES=off`: the endpoint, its tool and its documents are no part of the service (docs/data-protection.md). */
import { afterAll, expect, test } from 'bun:test';
import { startDashboardService } from '../dashboard/service.ts';
import { createMember, createVisitor } from '../dashboard/visitor.ts';
import { call } from '../support/client.ts';
import { callTool, META, REVISION, send } from '../support/mcp.ts';
import { createCaller, createTestKey, type TestService } from '../support/service.ts';

const services = {
  on: await startDashboardService(),
  off: await startDashboardService({ DEBT_CHANGES: 'off' }),
};
afterAll(() => Promise.all(Object.values(services).map((service) => service.stop())));

const MENTION = /debts\/changes|debt_changes|getDebtChanges|DebtChange|problem-changes-expired/;

/** Every document of the API that a service has. */
async function documentsOf(service: TestService): Promise<string[]> {
  const visitor = createVisitor(service.baseUrl);
  const { accountId } = await createMember(service, { visitor });
  const key = await createTestKey(service.sql, accountId);
  const headers = { 'MCP-Protocol-Version': REVISION, 'Mcp-Method': 'tools/list' };
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } };
  const tools = await (await send(service, list, { key, headers })).text();
  const pages = ['/openapi?lang=en', '/openapi?lang=pt', '/openapi/json', '/dashboard/reference'];
  const texts = await Promise.all(pages.map(async (path) => (await visitor.get(path)).text));
  return [...texts, tools];
}

test.each(['on', 'off'] as const)('when it is %s, every document says so', async (state) => {
  const texts = await documentsOf(services[state]);
  expect(texts.map((text) => MENTION.test(text))).toEqual(texts.map(() => state === 'on'));
});

test.each([
  ['on', 200, 200, null],
  ['off', 404, 404, 'not-found'],
] as const)(
  'when it is %s, the endpoint answers %d and the page of its problem %s',
  async (state, status, page, kind) => {
    const { baseUrl, url, sql } = services[state];
    const { accountId } = await createCaller(sql);
    const key = await createTestKey(sql, accountId);
    const answer = await call(url, '/debts/changes', { key, json: { after: null } });
    expect([answer.status, answer.kind]).toEqual([status, kind]);
    expect((await fetch(`${baseUrl}/problems/changes-expired`)).status).toBe(page);
  },
);

test('when it is off, a call of the tool names the tools that there are', async () => {
  const { accountId } = await createCaller(services.off.sql);
  const key = await createTestKey(services.off.sql, accountId);
  const answer = await (await callTool(services.off, 'list_debt_changes', { after: null }, { key })).text();
  expect(answer).toContain('There is no such tool. The tools are: search_companies, ');
  expect(answer).not.toMatch(MENTION);
});
