/**
 * One rule for every place where a NIF is given by itself: nine digits and separators, and `PT` before them, with or without a blank, except in a path
 * (docs/api.md: NIF or name). Files and pasted lists hold further text, and any `PT` in them is dropped (docs/imports.md:
 * files). The places are the code's own lists.
 */
import { afterAll, expect, test } from 'bun:test';
import type { Command } from 'commander';
import { importedNif } from '../../src/companies/nif.ts';
import { MESSAGES } from '../../src/dashboard/messages.ts';
import { readNifList } from '../../src/dashboard/screen/screen-list.ts';
import type { ApiRoute } from '../../src/http/api-route.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { PLENTY, startApi } from '../support/api.ts';
import type { CallOptions } from '../support/client.ts';
import { createCommandLine } from '../support/command.ts';
import { WAYS } from '../support/mcp.ts';
import { nifPtFound } from '../support/provider.ts';
import { importMain } from '../support/whole.ts';

const TAKEN = ['500002576', ' 500.002-576', '500\u00a0002\u202f576 '];
const WITH_COUNTRY = ['PT500002576', ' pt500 002 576', 'PT 500002576', 'pt\u00a0500.002.576'];
const REFUSED = ['PT  500002576', 'PT-500002576', 'ES500002576', 'PTPT500002576', 'PT50000257'];
const JSON_TYPE = { 'Content-Type': 'application/json' };

const api = await startApi();
api.provider.answerAll((nif) => nifPtFound(nif));
const caller = await api.caller(PLENTY);
afterAll(() => api.stop());

const routes = API_ROUTES.filter(({ params, body }) => params?.properties.nif ?? body?.properties.nifs);

/** A request of a route with one NIF. */
function requestOf({ path, body }: ApiRoute, nif: string): [path: string, options: CallOptions] {
  const { key } = caller;
  if (body === undefined) return [path.replace(':nif', encodeURIComponent(nif)), { key }];
  const sent = 'after' in body.properties ? { after: null, nifs: [nif] } : { nifs: [nif] };
  return [path, { key, method: 'POST', headers: JSON_TYPE, body: JSON.stringify(sent) }];
}

test('the routes that take a NIF are the lookup and three lists', () => {
  expect(routes.map(({ path }) => path)).toEqual(['/companies/:nif', '/lookups', '/debts', '/debts/changes']);
});

test.each(
  routes.flatMap((route) => Object.entries(WAYS).map(([way, ask]) => [route.path, way, route, ask] as const)),
)(
  '%s by %s takes a NIF with separators, with PT unless it is a path, and says of others what to do',
  async (_path, way, route, ask) => {
    const isPath = way === 'REST' && route.body === undefined;
    const answer = async (nif: string) => JSON.stringify((await ask(api, ...requestOf(route, nif))).body);
    for (const nif of isPath ? TAKEN : [...TAKEN, ...WITH_COUNTRY])
      expect([nif, await answer(nif)]).toEqual([nif, expect.not.stringContaining('/problems/')]);
    for (const nif of isPath ? [...REFUSED, ...WITH_COUNTRY] : REFUSED) {
      expect([nif, await answer(nif)]).toEqual([nif, expect.stringContaining('(a path takes no PT)')]);
      expect(await answer(nif)).toContain('problems/validation');
    }
    if (route.body !== undefined && !('after' in route.body.properties))
      for (const nif of WITH_COUNTRY) expect(await answer(nif)).toContain(`"nif":"${nif}"`);
  },
);

test('each command that takes a NIF takes it with PT, and says of others what to do', async () => {
  const cli = createCommandLine(api.database.url);
  const { createProgram } = await importMain();
  const takers = (command: Command, words: string[] = []): string[][] =>
    command.registeredArguments.some((argument) => argument.name() === 'nif')
      ? [words]
      : command.commands.flatMap((child) => takers(child, [...words, child.name()]));
  const commands = takers(createProgram());
  expect(commands).toContainEqual(['companies', 'forget']);
  for (const words of commands) {
    for (const nif of [...TAKEN, ...WITH_COUNTRY]) expect((await cli.run(...words, nif)).code).not.toBe(2);
    for (const nif of REFUSED) {
      expect(await cli.refusal(...words, nif)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('nine digits'),
      });
    }
  }
});

test('the search box says what to write in place of a NIF with PT', () => {
  expect(MESSAGES.en.nifMissing).toContain('without PT');
  expect(MESSAGES.pt.nifMissing).toContain('sem PT');
});

test('files and pasted lists take all of these forms', () => {
  for (const text of [...TAKEN, ...WITH_COUNTRY, 'PT  500002576']) {
    expect(importedNif(text)).toBe('500002576');
    expect(readNifList(`Padaria;${text};Lisboa`)).toMatchObject({ nifs: ['500002576'] });
  }
});
