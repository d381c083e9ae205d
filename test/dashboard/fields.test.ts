/** Fields that have one rule in every form: in each form of every page a bad value is refused at its field, which changes nothing. */
import { afterAll, expect, test } from 'bun:test';
import { invite } from '../../src/dashboard/account/invitations.ts';
import { MESSAGES } from '../../src/dashboard/messages.ts';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { openConsent, registerAgent } from './connections/agent.ts';
import { memberPages } from './full-account.ts';
import { startDashboardService, startMailedDashboard } from './service.ts';
import {
  createMember,
  createMemberWithKey,
  createVisitor,
  linkTo,
  newPerson,
  type Visitor,
} from './visitor.ts';

const { service, mail, stop } = await startMailedDashboard({ OAUTH_REGISTRATION: 'on' });
const unmailed = await startDashboardService();
afterAll(async () => {
  await unmailed.stop();
  await stop();
});

const { nameInvalid, emailInvalid, passwordInvalid, wrongPassword, wrongAccountName } = MESSAGES.en;
const BAD: Record<string, [value: string, fault: string]> = {
  name: ['a\u0007b', nameInvalid],
  email: ['a@b@c.pt', emailInvalid],
  password: ['short', passwordInvalid('12', '128')],
  present: ['not the password', wrongPassword],
};

type Right = Record<'present' | 'password' | (string & {}), string>;

/** Sends each form of a page with each of its fields bad, and the others right. @returns the fields */
async function sendBad(visitor: Visitor, path: string, right: Right): Promise<string[]> {
  const { document } = await visitor.get(path);
  const sent: string[] = [];
  for (const form of document.querySelectorAll('main form[method=post]')) {
    const fields = [...form.querySelectorAll('input:not([type=hidden])')].map((input) => input.id);
    for (const name of fields.filter((field) => field in BAD)) {
      const [bad, message] = BAD[name]!;
      const typed: Right = { ...right, [name]: bad };
      const selector = `main form[action="${form.getAttribute('action')}"]`;
      const answer = await visitor.submit(path, typed, { form: selector });
      const fault = name === 'name' && path.endsWith('/delete') ? wrongAccountName : message;
      expect([path, answer.status, answer.textOf(`#${name}-fault`)]).toEqual([path, 422, fault]);
      const focused = answer.document.querySelector('[autofocus]')!;
      expect([focused.id, focused.getAttribute('aria-invalid')]).toEqual([name, 'true']);
      expect(answer.countOf('[aria-invalid]')).toBe(1);
      expect(focused.getAttribute('aria-describedby')).toStartWith(`${name}-fault`);
      for (const field of fields.filter((field) => ['name', 'email'].includes(field)))
        expect(answer.valueOf(`#${field}`)).toBe(typed[field]!);
      for (const secret of [typed.present, typed.password]) expect(answer.text).not.toContain(secret);
      sent.push(name);
    }
    // All faults at once, before the password is checked.
    const typed = fields.filter((field) => field in BAD && field !== 'present');
    if (typed.length < 2) continue;
    const bad = Object.fromEntries(typed.map((name) => [name, BAD[name]![0]]));
    const answer = await visitor.submit(path, { ...right, ...bad });
    const faults = typed.map((name) => answer.textOf(`#${name}-fault`));
    expect([path, faults]).toEqual([path, typed.map((name) => BAD[name]![1])]);
    expect(answer.document.querySelector('[autofocus]')!.id).toBe(typed[0]!);
  }
  return sent;
}

test('in the forms of members', async () => {
  const { visitor, accountId, id, ...person } = await createMemberWithKey(service);
  const pages = await memberPages(service, accountId, id);
  const consent = await openConsent(visitor, await registerAgent(service));
  const right = {
    ...{ name: person.name, email: newPerson().email, password: newPerson().password },
    ...{ present: person.password, per: 'day', answer: 'yes' },
  };
  const changes = () => service.sql`SELECT id FROM account_events WHERE account_id = ${accountId}`;
  const before = (await changes()).length;
  const forms: Record<string, string[]> = { name: [], email: [], password: [], present: [] };
  for (const [route, path] of [
    ...pages.map(([route, path]) => [route, `/dashboard${path}`] as const),
    ['/connect/consent', consent] as const,
  ])
    for (const field of await sendBad(visitor, path, right)) forms[field]!.push(route);
  // docs/members.md: these want the member's password.
  expect(forms.present).toEqual([
    ...['/settings', '/settings/email'],
    ...['', '/codes', '/off'].map((path) => `/settings/second-factor${path}`),
    ...['', '/:id/remove', '/:id/role'].map((path) => `/settings/members${path}`),
    ...['/settings/delete', '/connect/consent'],
  ]);
  // Their forms take no page's place (request/request-limit.test.ts).
  const ofPasswords = Object.keys(ROUTES).filter(
    (path) => ROUTES[path]!.for === 'member' && ROUTES[path]!.hasPassword,
  );
  expect(forms.present!.toSorted()).toEqual(ofPasswords.toSorted());
  for (const [name, least] of Object.entries({ name: 4, email: 2, password: 1 }))
    expect([name, forms[name]!.length >= least]).toEqual([name, true]);
  expect((await changes()).length).toBe(before);
  expect(mail.received(right.email)).toBe(0);
});

test('in the forms of visitors', async () => {
  const { email, accountId } = await createMember(service);
  const visitor = createVisitor(service.baseUrl);
  await visitor.submit('/dashboard/forgot', { email });
  const other = newPerson();
  await visitor.submit('/dashboard/sign-up', { ...other });
  const { token } = await invite(service.sql, { accountId, email: newPerson().email }, 'test');
  const right = { ...newPerson('Rita'), present: 'no present password' };
  for (const [path, fields] of [
    ['/dashboard/sign-up', ['name', 'email']],
    ['/dashboard/forgot', ['email']],
    [await linkTo(mail, email), ['password']],
    [await linkTo(mail, other.email), ['password']],
    [`/dashboard/invitation?token=${token}`, ['name', 'password']],
  ] as const)
    expect([path, await sendBad(visitor, path, right)]).toEqual([path, [...fields]]);
  const alone = createVisitor(unmailed.baseUrl);
  // The first field of a new page has the focus.
  const fresh = await alone.get('/dashboard/sign-up');
  expect(fresh.document.querySelector('[autofocus]')!.id).toBe('name');
  expect(await sendBad(alone, '/dashboard/sign-up', right)).toEqual(['name', 'email', 'password']);
});
