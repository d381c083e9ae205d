import { afterAll, expect, test } from 'bun:test';
import { invite } from '../../../src/dashboard/account/invitations.ts';
import { startMailedDashboard } from '../service.ts';
import { createVisitor, linkTo, newPerson, signUpByMail } from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

test('every step of a sign-in is logged with the address, the member and the account, and no secret', async () => {
  const address = '203.0.113.40';
  const visitor = createVisitor(service.baseUrl, { address });
  const person = newPerson();
  const { accountId } = await signUpByMail(visitor, mail, person);
  const [user] = await service.sql`SELECT "id" FROM dashboard_users WHERE "email" = ${person.email}`;
  await visitor.submit('/dashboard/sign-in', { ...person }).catch(() => {}); // signed in: there is no form
  await visitor.submit('/dashboard/settings', { present: 'not the password', password: 'second password' });
  await visitor.submit('/dashboard/settings', { present: person.password, password: 'second password' });
  await visitor.submit('/dashboard', {}, { form: 'form.sign-out' });
  await visitor.submit('/dashboard/sign-in', { ...person, password: 'not the password' });
  await visitor.submit('/dashboard/sign-in', { ...newPerson() });
  await mail.mailTo(person.email); // the password was changed
  await visitor.submit('/dashboard/forgot', { email: person.email });
  const link = await linkTo(mail, person.email);
  await visitor.submit(link, { password: 'third password' });
  const { token } = await invite(service.sql, { accountId, email: person.email }, 'test');
  await visitor.submit(`/dashboard/invitation?token=${token}`, { name: 'x', password: 'fourth password' });
  await service.sql`UPDATE dashboard_attempts SET attempts = 100 WHERE key LIKE 'guess %'`;
  await createVisitor(service.baseUrl, { address }).submit('/dashboard/sign-in', { ...person });

  const unknown = { address, keepDays: 30, level: 30 };
  const known = { ...unknown, member: user!.id, account: accountId };
  const logged = service.logLines
    .filter((line) => line.msg === 'security')
    .map(({ time: _time, requestId: _requestId, msg: _msg, ...event }) => event);
  expect(logged).toEqual([
    { ...unknown, event: 'sign-up' },
    { ...unknown, member: user!.id, event: 'sign-in' }, // the first: the account is made after it
    { ...known, event: 'password check failed' },
    { ...known, event: 'password changed' },
    { ...known, event: 'sign-out' },
    { ...known, event: 'sign-in failed' },
    { ...unknown, event: 'sign-in failed' },
    { ...known, event: 'password reset' },
    { ...known, event: 'invitation accepted' },
    { ...known, event: 'sign-in' },
    { ...known, event: 'sign-in refused' },
  ]);
  const written = JSON.stringify(service.logLines);
  const resetToken = link.split('=')[1]!;
  for (const secret of [
    person.email,
    '@',
    person.password,
    'password"',
    token,
    resetToken,
    'token=',
    'not the password',
  ])
    expect([secret, written.includes(secret)]).toEqual([secret, false]);
});
