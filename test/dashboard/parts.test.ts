import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { MESSAGES } from '../../src/dashboard/messages.ts';
import { createClientAddress } from '../../src/dashboard/request/client-address.ts';
import { pickCookies, readCookie } from '../../src/dashboard/request/cookies.ts';
import { formKeyOf, formToken, isFormToken } from '../../src/dashboard/request/csrf.ts';
import { passwordRefusal } from '../../src/dashboard/request/passwords.ts';
import { isEmail } from '../../src/dashboard/request/read-form.ts';
import { html } from '../../src/dashboard/ui/html.ts';
import { formatsOf, preferredLanguage } from '../../src/dashboard/ui/language.ts';
import { scaleOf } from '../../src/dashboard/usage/plot.ts';
import { ROOT } from '../support/whole.ts';

describe('the address that attempts are counted against', () => {
  const read = createClientAddress(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1']);
  const client = (peer: string | null, forwardedFor: string | null) => read(peer, forwardedFor).address;

  test.each([
    // The connection's own, whatever an untrusted sender writes.
    ['203.0.113.9', '1.2.3.4', '203.0.113.9'],
    // Behind trusted proxies the rightmost that is none.
    ['10.1.1.1', '203.0.113.9', '203.0.113.9'],
    ['10.1.1.1', '6.6.6.6, 203.0.113.9, 192.0.2.1, 10.9.9.9', '203.0.113.9'],
    ['2001:db8::1', '2001:470::5', '2001:470::5'],
    ['::ffff:10.1.1.1', '203.0.113.9', '203.0.113.9'],
    // The proxy's where it says nothing, or nothing that is an address.
    ['10.1.1.1', null, '10.1.1.1'],
    ['10.1.1.1', 'unknown', '10.1.1.1'],
    ['10.1.1.1', '<script>, 10.2.2.2', '10.2.2.2'],
    [null, null, '0.0.0.0'],
    // That of the sixteenth proxy, however many are written.
    ['10.1.1.1', `203.0.113.9${', 10.2.2.2'.repeat(15)}`, '203.0.113.9'],
    ['10.1.1.1', `203.0.113.9${', 10.2.2.2'.repeat(16)}`, '10.2.2.2'],
    ['10.1.1.1', '', '10.1.1.1'],
    ['10.1.1.1', ',', '10.1.1.1'],
    ['10.1.1.1', ',10.2.2.2', '10.2.2.2'],
    ['10.1.1.1', `${' '.repeat(200)}203.0.113.9`, '10.1.1.1'],
    // Without a zone.
    ['fe80::1%eth0', null, 'fe80::1'],
    ['10.1.1.1', 'fe80::2%1, 10.2.2.2', 'fe80::2'],
  ])('of %p with X-Forwarded-For %p is %s', (peer, forwardedFor, address) => {
    expect(client(peer, forwardedFor)).toBe(address);
  });

  test.each([
    ...['127.0.0.1', '172.17.0.1', '192.168.1.9', '100.64.0.1', '::1', 'fd00::1', 'fe80::1%a', '10.1.1.1'],
  ])('may be shared when it is not public: %s', (peer) => expect(read(peer, null).isShared).toBe(true));

  test('may be shared when it names others while no proxy is named', () => {
    const none = createClientAddress([]);
    expect(none('203.0.113.9', '1.2.3.4')).toEqual({ address: '203.0.113.9', isShared: true });
    // Otherwise a client can't choose to be spared by a header.
    for (const [peer, by] of [
      ['203.0.113.9', null],
      ['203.0.113.9', '1.2.3.4'],
      ['10.1.1.1', '203.0.113.9'],
    ] as const)
      expect([peer, by, read(peer, by).isShared]).toEqual([peer, by, false]);
  });

  test('an ignored X-Forwarded-For is told of once', () => {
    const told: string[] = [];
    const other = createClientAddress(['10.0.0.0/8'], (peer) => void told.push(peer));
    other('10.1.1.1', '203.0.113.9');
    other('203.0.113.8', null);
    expect(told).toEqual([]);
    other('203.0.113.8', '1.2.3.4');
    other('203.0.113.9', '1.2.3.4');
    expect(told).toEqual(['203.0.113.8']);
  });
});

describe('a cookie', () => {
  test('is found by its whole name, the first of several', () => {
    const header = 'x.dashboard.form=1; dashboard.form2=2;dashboard.form=3 ; a="; dashboard.form=4';
    expect(readCookie(header, 'dashboard.form')).toBe('3');
    expect(readCookie('dashboard.form=a=b', 'dashboard.form')).toBe('a=b');
    for (const none of [null, '', 'dashboard.form', 'dashboard.form=', 'Dashboard.form=1'])
      expect([none, readCookie(none, 'dashboard.form')]).toEqual([none, '']);
  });

  test('of other names is not passed on', () => {
    expect(pickCookies('a=1; b=2; c=3; b=4', ['b', 'a', 'd'])).toBe('b=2; a=1');
    expect(pickCookies('a=1', ['b'])).toBeNull();
  });
});

test('escape all text, in content and in attributes, and leave what the tag made', () => {
  const inner = html`<b>${'<i>'}</b>`;
  const { markup } =
    html`<p title="${'"\'&'}">${inner}${[html`<br>`, '<', 3]}${null}${false}${undefined}</p>`;
  expect(markup).toBe('<p title="&quot;&#x27;&amp;"><b>&lt;i&gt;</b><br>&lt;3</p>');
});

describe('languages', () => {
  test('follow Accept-Language with its weights; English where neither is wanted', () => {
    const cases: [string | null, string][] = [
      [null, 'en'],
      ['pt', 'pt'],
      ['pt-BR', 'pt'],
      ['de-DE,de;q=0.9', 'en'],
      ['en-GB,en;q=0.9,pt;q=0.8', 'en'],
      ['en;q=0.2, pt;q=0.9', 'pt'],
      ['pt;q=0, en', 'en'],
      ['*', 'en'],
      ['x'.repeat(100_000), 'en'],
    ];
    for (const [header, language] of cases)
      expect([header, preferredLanguage(header)]).toEqual([header, language as 'en']);
  });

  test('have the same messages, none of them empty, and each value is put into its text', () => {
    expect(Object.keys(MESSAGES.pt).sort()).toEqual(Object.keys(MESSAGES.en).sort());
    const textsOf = (texts: object): string[] =>
      Object.values(texts).flatMap((text) => {
        if (typeof text === 'object') return textsOf(text);
        return typeof text === 'function' ? ['1', '2'].map((count) => text(count, 'b', 'c', 'd')) : [text];
      });
    const [en, pt] = [textsOf(MESSAGES.en), textsOf(MESSAGES.pt)];
    expect(pt.length).toBe(en.length);
    // A text of two lines has one of each language.
    const bad = [...en, ...pt].filter((text) => !/^[^\n|{}]+$/.test(text) || text.includes('undefined'));
    expect(bad).toEqual([]);
    expect(MESSAGES.pt.leftOf('3', '5')).toBe('3 de 5');
    const { screenPrice } = MESSAGES.en;
    expect(['1', '5'].map(screenPrice)).toEqual(['1 company costs 1 credit.', '5 companies cost 5 credits.']);
  });

  test('write the time left in its two largest units, and never less than a minute', () => {
    const { duration } = formatsOf('en');
    const hour = 3_600_000;
    expect(duration(9 * 24 * hour + 3 * hour + 59 * 60_000)).toBe('9 days, 3 hours');
    expect(duration(24 * hour)).toBe('1 day');
    expect(duration(24 * hour + 5 * 60_000)).toBe('1 day');
    expect(duration(61 * 60_000)).toBe('1 hour, 1 minute');
    expect(duration(10)).toBe('1 minute');
    // The clock of Postgres, which ends a period, may be behind.
    expect(duration(-5 * hour)).toBe('1 minute');
    expect(formatsOf('pt').duration(25 * hour)).toBe('1 dia e 1 hora');
  });
});

test('an email has one @ and a dot behind it, and nothing that could end a mail header', () => {
  for (const good of ['a@b.pt', 'maria.antunes+x@sub.example.com', 'ção@exemplo.pt'])
    expect([good, isEmail(good)]).toEqual([good, true]);
  for (const bad of [
    ...['', 'a', '@b.pt', 'a@b', 'a b@c.pt', 'a@b.pt\r\nBcc: x@y.pt', '<a@b.pt>', 'a@b,c@d.pt'],
    `${'x'.repeat(250)}@b.pt`,
  ])
    expect([bad, isEmail(bad)]).toEqual([bad, false]);
});

test('a new password is refused when it is short, on the list of common ones, or repeats itself', () => {
  const refusal = (password: string) => passwordRefusal(MESSAGES.en, password, []);
  for (const common of [
    ...['Password1234', 'QWERTY123456', '1qaz2wsx3edc', 'aaaaaaaaaaaa', 'passwordPASSWORD', 'abc1abc1abc1'],
  ])
    expect([common, refusal(common)]).toEqual([common, MESSAGES.en.passwordCommon]);
  expect(refusal('x1y2z3x4y5z')).toBe('A password has 12 to 128 characters.');
  expect(refusal('correct horse battery')).toBeNull();
  expect(refusal('k'.repeat(64) + 'j'.repeat(64))).toBeNull();
});

test('a new password is refused when it has the email, the name, the brand or the host in it, or is a part of one', () => {
  const about = ['maria.moreira@example.com', 'Livraria Ática', 'directory.example.org', 'Zé'];
  const refusal = (password: string) => passwordRefusal(MESSAGES.pt, password, about);
  for (const known of [
    ...['maria.moreira@example.com', 'MariaMoreira2026', 'moreira@example', 'a livraria ática!'],
    ...['companydirectory', 'Diretório de Empresas', 'directory.example.org', 'example.org!'],
  ])
    expect([known, refusal(known)]).toEqual([known, MESSAGES.pt.passwordKnown]);
  for (const good of ['correct horse battery', 'o zé gosta de livros', '!!!! ---- ???? ++'])
    expect([good, refusal(good)]).toEqual([good, null]);
});

describe('a form’s token', () => {
  const owner = { id: 'visitor:a', setCookie: null };
  const key = formKeyOf('x'.repeat(40));

  test('is signed with a separate key, not with the secret of the sessions', () => {
    expect(isFormToken(key, owner, formToken(key, owner))).toBe(true);
    for (const other of ['x'.repeat(40), formKeyOf('y'.repeat(40))])
      expect(isFormToken(key, owner, formToken(other, owner))).toBe(false);
  });

  test('lives for a day', () => {
    /** A token as it was made so many hours ago. It begins with its time and ends with 32 bytes of signature. */
    const aged = (hours: number) => {
      const signed = Buffer.from(formToken(key, owner), 'base64url').subarray(0, -32);
      signed.writeBigUInt64BE(signed.readBigUInt64BE() - BigInt(hours * 3_600_000));
      const signature = createHmac('sha256', `${key}:${owner.id}`).update(signed).digest();
      return Buffer.concat([signed, signature]).toString('base64url');
    };
    expect([0, 23, 25].map((hours) => isFormToken(key, owner, aged(hours)))).toEqual([true, true, false]);
  });
});

test('the scale of a plot fits: 225 calls reach 250, and never is more than half of it empty', () => {
  expect(scaleOf(225)).toEqual({ step: 50, top: 250 });
  for (let value = 1; value <= 20_000; value += 1) {
    const { step, top } = scaleOf(value);
    if (top < value || top >= value * 2 || top / step > 5 || !Number.isInteger(step))
      expect([value, step, top]).toBeNull();
  }
  expect(scaleOf(0).top).toBe(1);
});

/** The dashboard's programs, by their path, without its texts. */
const sources = new Map<string, string>();
const texts: object[] = [];
for await (const path of new Bun.Glob('src/dashboard/**/*.{ts,js}').scan(ROOT))
  if (path.endsWith('texts.ts')) texts.push(...Object.values<object>(await import(join(ROOT, path))));
  else sources.set(path, await Bun.file(join(ROOT, path)).text());

test('a name called <script> stays text everywhere: the tag alone makes markup, in which values of attributes are quoted', () => {
  const raw = /(?<![.\w])markup\b|innerHTML|insertAdjacentHTML/;
  const found = [...sources].filter(([, code]) => raw.test(code) || / [\w-]+=\$\{/.test(code));
  expect(found.map(([path]) => path)).toEqual(['src/dashboard/ui/html.ts']);
});

test('each text is used, and no two rooms give one name to two texts', () => {
  const named = texts.flatMap(Object.keys);
  const words = new Set([...sources.values()].join('').match(/\w+/g));
  expect(Object.keys(MESSAGES.en).filter((name) => !words.has(name))).toEqual([]);
  expect(named.filter((name, index) => named.indexOf(name) < index)).toEqual([]);
});

test('each success that a form leads to has its message', () => {
  const led = [...sources.values()].flatMap((code) => [...code.matchAll(/\?done=([a-z-]+)/g)]);
  const told = Object.keys(MESSAGES.en.done).map((address) => address.split('?done=')[1]!);
  expect(new Set(led.map(([, done]) => done!))).toEqual(new Set(told));
});
