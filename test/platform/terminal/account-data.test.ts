import { afterAll, expect, test } from 'bun:test';
import { acceptInvitation } from '../../../src/dashboard/account/invitations.ts';
import { createCommandLine } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';

const database = await createTestDatabase('cli_data');
const cli = createCommandLine(database.url);
afterAll(() => database.drop());

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const at = expect.stringMatching(INSTANT);
const actor = expect.stringMatching(/^cli:/);
const create = async () => (await cli.json('account', 'create', '--name', 'Test')).id as string;

test('account history answers {at, kind, actor} and what the kind has, oldest first', async () => {
  const id = await create();
  const key = await cli.json('key', 'create', id, '--name', 'production');
  await cli.json('account', 'credits', id, '--add', '7', '--note', 'paid', '--reference', 'invoice-17');
  const { stdout } = await cli.run('account', 'history', id, '--json');
  expect(stdout).not.toContain(key.secret.slice(10));
  expect(JSON.parse(stdout)).toMatchObject([
    { at, kind: 'created', actor },
    { at, kind: 'key-created', actor, key: key.id, keyName: 'production' },
    { at, kind: 'credits', actor, credits: 7, balance: 7, note: 'paid', reference: 'invoice-17' },
  ]);
  await cli.json('account', 'limits', id, '--requests-per-minute', '90', '--spend-purchased', 'no');
  const table = (await cli.run('account', 'history', id)).stdout;
  expect(table).toContain('invoice-17');
  expect(table).toContain('spendPurchased=false includedCredits=500 requestsPerMinute=90');
  expect((await cli.refusal('account', 'history', 'acc_none')).code).toBe(1);
});

test('account export answers one document', async () => {
  const id = await create();
  expect(await cli.json('account', 'export', id)).toMatchObject({
    exported: at,
    account: { id, name: 'Test', period: { start: at, end: at } },
    members: [],
    keys: [],
    history: [{ kind: 'created' }],
  });
  expect(JSON.parse((await cli.run('account', 'export', id)).stdout).account.id).toBe(id);
  expect((await cli.refusal('account', 'export', 'acc_none')).code).toBe(1);
});

test('account delete wants --yes, answers {id, deleted}, and leaves the history', async () => {
  const id = await create();
  expect((await cli.refusal('account', 'delete', id)).code).toBe(2);
  expect((await cli.json('account', 'show', id)).name).toBe('Test');
  const answer = await cli.json('account', 'delete', id, '--yes');
  expect(answer).toEqual({ id, deleted: at });
  expect(await cli.json('account', 'delete', '--yes', id)).toEqual(answer);
  expect((await cli.refusal('account', 'show', id)).code).toBe(1);
  expect((await cli.json('account', 'history', id)).at(-1)).toMatchObject({ kind: 'deleted' });
});

test('account members answers [{email, name, role, since, lastSignIn, secondFactor}]; remove-member refuses the only one and a stranger', async () => {
  const id = await create();
  expect(await cli.json('account', 'members', id)).toEqual([]);
  for (const name of ['ana', 'rui']) {
    const { link } = await cli.json('account', 'invite', id, '--email', `${name}-${id}@example.com`);
    const token = new URL(link).searchParams.get('token')!;
    await acceptInvitation(database.sql, token, name, 'scrypt');
  }
  const [ana, rui] = ['ana', 'rui'].map((name) => `${name}-${id}@example.com`) as [string, string];
  expect(await cli.json('account', 'members', id)).toEqual([
    { email: ana, name: 'ana', role: 'owner', since: at, lastSignIn: null, secondFactor: false },
    { email: rui, name: 'rui', role: 'owner', since: at, lastSignIn: null, secondFactor: false },
  ]);
  expect((await cli.run('account', 'members', id)).stdout).toContain(ana);
  const remove = ['account', 'remove-member', id, '--email'];
  expect(await cli.json(...remove, ana.toUpperCase())).toEqual({ id, email: ana, removed: true });
  expect(await cli.refusal(...remove, ana)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is no member'),
  });
  expect(await cli.refusal(...remove, rui)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is the last owner'),
  });
  expect((await cli.json('account', 'history', id)).at(-1)).toMatchObject({ kind: 'member-removed', actor });
  expect((await cli.refusal('account', 'members', 'acc_none')).code).toBe(1);
});
