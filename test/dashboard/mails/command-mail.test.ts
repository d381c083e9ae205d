/** The commands that send mail, and those about pending invitations (docs/commands.md). */
import { afterAll, expect, test } from 'bun:test';
import { createUser } from '../../../src/dashboard/account/invitations.ts';
import { createCommandLine } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startMailServer } from '../service.ts';

const database = await createTestDatabase('command_mail');
const mail = await startMailServer();
const cli = createCommandLine(database.url, { SMTP_URL: mail.url });
const unmailed = createCommandLine(database.url, { SMTP_URL: 'smtp://127.0.0.1:9' });
afterAll(async () => {
  await mail.stop();
  await database.drop();
});

test('an invitation is mailed in both languages, and the answer says so', async () => {
  const { id } = await cli.json('account', 'create', '--name', 'Padaria Central');
  const answer = await cli.json('account', 'invite', id, '--email', 'ana@example.com');
  expect(answer).toMatchObject({ id, email: 'ana@example.com', mailed: true });
  const { text } = await mail.mailTo('ana@example.com');
  expect(text).toContain(answer.link);
  expect(text).toContain('The operator of this service invites you to an account here.');
  expect(text).toContain('Recebeu um convite do operador deste serviço para uma conta.');
  expect(text).not.toContain('Padaria Central');
  const { code, json, stderr } = await unmailed.run(
    'account',
    'invite',
    id,
    '--email',
    'rui@example.com',
    '--json',
  );
  expect([code, json.mailed, typeof json.link]).toEqual([0, false, 'string']);
  expect(stderr).toBe('warning: the mail was not sent (ESOCKET): check SMTP_URL and the relay\n');
});

test('a second factor is reset once, and its member has a mail', async () => {
  const { id } = await cli.json('account', 'create', '--name', 'Test');
  const person = { name: 'Eva', email: 'eva@example.com', password: 'correct horse battery' };
  await createUser(database.sql, id, person, 'test');
  await database.sql`UPDATE dashboard_users SET "twoFactorEnabled" = true WHERE "email" = ${person.email}`;
  const reset = ['account', 'reset-second-factor', id, '--email', 'Eva@example.com'];
  expect(await cli.json(...reset)).toEqual({ id, email: person.email, reset: true, mailed: true });
  expect((await mail.mailTo(person.email)).text).toContain('turned it off');
  expect((await cli.refusal(...reset)).code).toBe(1);
  const [member] = await cli.json('account', 'members', id);
  expect(member.secondFactor).toBe(false);
});

test('a suspension mails its reason once, and the history has it', async () => {
  const { id } = await cli.json('account', 'create', '--name', 'Padaria Central');
  const person = { name: 'Rita', email: 'rita@example.com', password: 'correct horse battery' };
  await createUser(database.sql, id, person, 'test');
  const suspend = ['account', 'suspend', id, '--reason', 'Invoice 17 is overdue'];
  expect(await cli.json(...suspend)).toEqual({ id, suspended: true, mailed: 1 });
  expect((await mail.mailTo(person.email)).text).toContain('Reason: Invoice 17 is overdue');
  expect(await cli.json(...suspend)).toEqual({ id, suspended: true, mailed: 0 });
  const history = await cli.json('account', 'history', id);
  expect(history.at(-1)).toMatchObject({ kind: 'suspended', note: 'Invoice 17 is overdue' });
});

test('the mails of a suspension take few connections of the relay', async () => {
  const { id } = await cli.json('account', 'create', '--name', 'Padaria Central');
  await database.sql`
    WITH users AS (
      INSERT INTO dashboard_users ("id", "name", "email", "emailVerified")
      SELECT 'm' || n, 'Rita', 'm' || n || '@example.com', true FROM generate_series(1, 30) AS n RETURNING "id")
    INSERT INTO dashboard_members (user_id, account_id) SELECT "id", ${id} FROM users`;
  expect(await cli.json('account', 'suspend', id)).toEqual({ id, suspended: true, mailed: 30 });
  // One that sends, and one that still closes.
  expect(mail.mostConnections()).toBeLessThanOrEqual(2);
});

test('pending invitations are listed, and a withdrawn one is dead', async () => {
  const { id } = await cli.json('account', 'create', '--name', 'Test');
  await cli.json('account', 'invite', id, '--email', 'Ana@example.com');
  await cli.json('account', 'invite', id, '--email', 'rui@example.com', '--role', 'member');
  const pending = async () =>
    (await cli.json('account', 'invitations', id)).map((each: { email: string }) => each.email);
  expect(await cli.json('account', 'invitations', id)).toMatchObject([
    { email: 'ana@example.com', actor: expect.stringMatching(/^cli:/), expires: expect.any(String) },
    { email: 'rui@example.com', role: 'member' },
  ]);
  const withdraw = ['account', 'withdraw-invitation', id, '--email', 'ANA@example.com'];
  expect(await cli.json(...withdraw)).toEqual({ id, email: 'ana@example.com', withdrawn: true });
  expect(await pending()).toEqual(['rui@example.com']);
  expect((await cli.refusal(...withdraw)).code).toBe(1);
  const history = await cli.json('account', 'history', id);
  expect(history.at(-1).kind).toBe('invitation-withdrawn');
});
