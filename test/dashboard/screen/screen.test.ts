import { afterAll, expect, test } from 'bun:test';
import { type NifList, readNifList } from '../../../src/dashboard/screen/screen-list.ts';
import { changeLimits } from '../../../src/metering/accounts/changes.ts';
import { debtsFile, importBrackets } from '../../companies/debts/debts-support.ts';
import { sendText } from '../../support/client.ts';
import { csv, nif } from '../../support/companies.ts';
import { eventually, poll, until } from '../../support/until.ts';
import { importCompanies, startDashboardService, usedBy } from '../service.ts';
import { createMember, formTokenOf, type PageAnswer, type Visitor } from '../visitor.ts';

const WRONG_CHECK_DIGIT = '500002577';

const service = await startDashboardService();
afterAll(() => service.stop());

const used = (accountId: string) => usedBy(service, accountId);
const listOf = (text: string) => readNifList(text) as NifList;
const read = (visitor: Visitor, list: string) => visitor.submit('/dashboard/screen', { list });
const rowsOf = ({ cellsOf }: PageAnswer, table: string) => cellsOf(`${table} tbody tr`);
const pasted = ({ document }: PageAnswer) => document.querySelector('textarea')!.textContent;
const fileOf = ({ linksOf }: PageAnswer) =>
  Buffer.from(linksOf('a[download]')[0]!.split(',')[1]!, 'base64').toString();
/** The form of a list whose price was seen, to be sent without its page. */
async function formOf(visitor: Visitor, list: string, price: number) {
  return { form_token: await formTokenOf(visitor, '/dashboard/screen'), list, price: String(price) };
}
const run = (visitor: Visitor, list: string, price: number) =>
  visitor.submit('/dashboard/screen', { list, price: String(price) });

const grouped = (nif: string, separator: string) => nif.match(/.../g)!.join(separator);
test.each([
  ['one on each line', `${nif(1)}\n${nif(2)}\r\n`, [nif(1), nif(2)]],
  ['separated by anything', `${nif(1)}, ${nif(2)};${nif(3)}\t${nif(4)}`, [nif(1), nif(2), nif(3), nif(4)]],
  ['in groups of three', `${grouped(nif(1), ' ')}\n${grouped(nif(2), '.')}`, [nif(1), nif(2)]],
  ['beside each other', `${nif(1)} ${nif(2)}`, [nif(1), nif(2)]],
  ['with the prefix of VAT', `PT${nif(1)}`, [nif(1)]],
  ['rows of a table', `Nome;NIPC;Total\n"A, Lda";${nif(1)};1.250,00\n"B 2";${nif(2)};12`, [nif(1), nif(2)]],
  ['beside telephone numbers', `A, Lda;${nif(1)};912345678\n253 111 222;${nif(2)}`, [nif(1), nif(2)]],
  ['inside longer numbers', `1${nif(1)} ${nif(2)}0 1.${nif(3)}`, []],
])('a pasted list of NIFs %s', (_name, text, nifs) => {
  expect(listOf(text).nifs).toEqual(nifs);
});

test('a pasted list loses no row: each has its number, or the reason why it is not screened', () => {
  const { nifs, rows } = listOf(
    `NIF;Nome\n${nif(1)};A\n\n${WRONG_CHECK_DIGIT};B\n${nif(1)};A, Lda\n50000257;C\n5,00003E+08;D\nn/d\n${nif(2)} ${nif(3)}\n${nif(4)};253 111 222`,
  );
  expect(nifs).toEqual([nif(1), nif(2), nif(3), nif(4)]);
  expect(rows.map(({ line, nif, leftOut, firstLine }) => [line, nif, leftOut, firstLine ?? null])).toEqual([
    [2, nif(1), null, null],
    [4, WRONG_CHECK_DIGIT, 'wrong', null],
    [5, nif(1), 'repeated', 2],
    [6, null, 'length', null],
    [7, null, 'rounded', null],
    [8, null, 'missing', null],
    [9, nif(2), null, null],
    [9, nif(3), null, null],
    [10, nif(4), null, null],
  ]);
  expect(rows[2]!.text).toBe(`${nif(1)};A, Lda`);
  // Without a heading it begins with its first row.
  expect(listOf('Padaria Central\nn/d').rows.map(({ text }) => text)).toEqual(['Padaria Central', 'n/d']);
});

/** Ages all charges of lists by ten minutes, once what each has kept is stored: that is behind its answer. */
async function ageCharges(): Promise<void> {
  const isKept = async () =>
    (await service.sql`SELECT FROM keyed_requests WHERE sending IS NOT NULL`).length === 0;
  await until('what each charge has kept', isKept);
  await service.sql`UPDATE keyed_requests SET kept_at = kept_at - interval '10 minutes'`;
}

test('says what a list costs before it is charged, and what is left out', async () => {
  const { visitor, accountId } = await createMember(service);
  const page = await read(visitor, `${nif(1)}\n${nif(2)}\n${nif(2)} ${WRONG_CHECK_DIGIT}`);
  expect(page.status).toBe(200);
  expect(page.textOf('[data-rows]')).toBe('4 rows: 2 companies, 1 repeated, 1 not valid.');
  const again = `${nif(2)} ${WRONG_CHECK_DIGIT}`;
  expect(rowsOf(page, '.left-out')).toEqual([
    [again, '3', 'The same as row 2'],
    [again, '3', 'Wrong check digit'],
  ]);
  expect(page.textOf('[data-price]')).toEndWith('2 companies cost 2 credits.');
  expect(page.textOf('button[name=price]')).toBe('Screen 2 companies 2 credits');
  // What was pasted stays, to be mended.
  expect(pasted(page)).toBe(`${nif(1)}\n${nif(2)}\n${again}`);
  expect(await used(accountId)).toBe(0);
  await changeLimits(service.sql, accountId, { includedCredits: 1 }, 'test');
  expect((await read(visitor, `${nif(1)} ${nif(2)}`)).textOf('[data-price]')).toContain(
    'suffice for the first 1.',
  );
});

test('a list that was changed after its price was shown gets its new price, and is not charged', async () => {
  const { visitor, accountId } = await createMember(service);
  const page = await run(visitor, `${nif(1)} ${nif(2)} ${nif(3)}`, 2);
  expect(page.textOf('[data-price]')).toBe('3 rows: 3 companies. 3 companies cost 3 credits.');
  expect(await used(accountId)).toBe(0);
});

test('before any list was imported, the answer says that it means nothing', async () => {
  const page = await run((await createMember(service)).visitor, nif(1), 1);
  expect(page.textOf('#answer-title')).toBe('On a list of debtors: 0 of 1');
  expect(page.textsOf('.notice')).toEqual([
    'Tax debts. This list was never imported here. Not being on it says nothing.',
    'Social security debts. This list was never imported here. Not being on it says nothing.',
  ]);
});

test('answers with the debtors first, charges each company once, and gives the same in the order of the paste as CSV', async () => {
  const database = { url: service.databaseUrl, sql: service.sql };
  const brackets = { [nif(3)]: [7500, 25_000], [nif(5)]: [1_000_000, null] } as const;
  await importBrackets(database, brackets);
  await importCompanies(service, csv(1, 5));
  const { visitor, accountId } = await createMember(service);
  const list = `${WRONG_CHECK_DIGIT}\n${nif(1)};Um\n${nif(3)};Três\n${nif(5)}\nn/d\n${nif(3)}`;
  const page = await run(visitor, list, 3);
  expect(page.textOf('#answer-title')).toBe('On a list of debtors: 2 of 3');
  const found = ['On a list of debtors', '€7,500 to €25,000', 'not imported'] as const;
  expect(rowsOf(page, '.screened')).toEqual([
    [`${nif(3)};Três`, nif(3), 'Empresa 000003', ...found],
    [nif(5), nif(5), 'not in the directory', 'On a list of debtors', '€1,000,000 or more', 'not imported'],
    [nif(3), nif(3), 'Empresa 000003', `${found[0]} (The same as row 3)`, ...found.slice(1)],
    [WRONG_CHECK_DIGIT, WRONG_CHECK_DIGIT, '', 'Wrong check digit', '', ''],
    [`${nif(1)};Um`, nif(1), 'Empresa 000001', 'Not on the list', '–', 'not imported'],
    ['n/d', '', '', 'No NIF', '', ''],
  ]);
  expect(page.textOf('main')).toContain('does not mean having no debts');
  // The file that the answer is from, so that it can be shown to be right later.
  const sha256 = new Bun.CryptoHasher('sha256').update(debtsFile(brackets)).digest('hex');
  expect(page.attributesOf('.hint code', 'title')[0]).toBe(`SHA-256: ${sha256}`);
  expect(await used(accountId)).toBe(3);
  const [calls] = await service.sql`
    SELECT key_id, kind, calls FROM calls_by_day WHERE account_id = ${accountId}`;
  expect({ ...calls }).toEqual({ key_id: '', kind: 'debts', calls: 3 });

  expect(page.linksOf('a[download]')[0]).toStartWith('data:text/csv;charset=utf-8;base64,');
  expect(fileOf(page).split('\r\n').slice(0, 5)).toEqual([
    '\ufeff"Row","As pasted","NIF","Legal name","Result","Tax debts: from","Tax debts: to","Tax debts: as of","Social security debts: from","Social security debts: to","Social security debts: as of"',
    `1,"${WRONG_CHECK_DIGIT}","${WRONG_CHECK_DIGIT}","","Wrong check digit","","","","","",""`,
    `2,"${nif(1)};Um","${nif(1)}","Empresa 000001","Not on the list","","","2026-10-31","","",""`,
    `3,"${nif(3)};Três","${nif(3)}","Empresa 000003","On a list of debtors",7500,25000,"2026-10-31","","",""`,
    `4,"${nif(5)}","${nif(5)}","","On a list of debtors",1000000,"","2026-10-31","","",""`,
  ]);
});

test('names without a NIF are resolved for their price, and the clear ones stand behind their rows', async () => {
  const names = ['Padaria Aurora Lda', 'Talho Beirão Lda', 'Talho Beirão do Porto Lda'];
  await importCompanies(
    service,
    csv(70, 73, (n) => names[n - 70]!),
  );
  const { visitor, accountId } = await createMember(service);
  const list = `${nif(1)}\nPadaria Aurora\nTalho Beiro\nInexistente Qualquer\nn/d`;
  const priced = await read(visitor, list);
  expect(priced.textOf('[name=resolve]')).toBe('Find 3 names: 1 to 3 credits');
  const resolved = await visitor.submit('/dashboard/screen', { list, resolve: 'yes' });
  // The credit of a name without a candidate comes back by the roll-up.
  await eventually(() => used(accountId), 2);
  expect(resolved.textOf('[data-resolved] .hint')).toStartWith('2 credits spent.');
  const choices = resolved.valueOf('[name=choices]');
  expect(choices).toBe(`2:${nif(70)}`);
  expect(resolved.textsOf('[data-line="3"] option').map((text) => text.split(' ')[0])).toEqual([
    ...['None', nif(71), nif(72)],
  ]);
  // The same names again cost nothing.
  const again = await visitor.submit('/dashboard/screen', { list, resolve: 'yes' });
  expect(again.textOf('[data-resolved] .hint')).toStartWith('No credit spent');
  const chosen = { list, choices: `${choices} 3:${nif(72)} 99:${nif(1)}` };
  const taken = await visitor.submit('/dashboard/screen', chosen);
  expect(pasted(taken)).toBe(
    `${nif(1)}\nPadaria Aurora → ${nif(70)}\nTalho Beiro → ${nif(72)}\nInexistente Qualquer\nn/d`,
  );
  expect(taken.textOf('[data-rows]')).toBe('5 rows: 3 companies, 2 without a NIF.');
  await eventually(() => used(accountId), 2);
});

test('with clear ones alone, a name that is not clear has no candidate and costs nothing', async () => {
  const { visitor, accountId } = await createMember(service);
  const list = 'Padaria Aurora\nTalho Beiro\nTalho Beir\u00e3o do Porto';
  expect((await read(visitor, list)).countOf('[name=clear][checked]')).toBe(0);
  const page = await visitor.submit('/dashboard/screen', { list, resolve: 'yes', clear: 'yes' });
  expect(page.valueOf('[name=choices]')).toBe(`1:${nif(70)} 3:${nif(72)}`);
  expect(rowsOf(page, '[data-resolved]')[1]).toEqual(['Talho Beiro', 'No clear one']);
  await eventually(() => used(accountId), 2);
});

test.each([
  ['a list', { list: `${nif(1)}\n${nif(3)}`, price: '2' }, 2],
  ['names', { list: 'Padaria Aurora\nTalho Beiro\nInexistente Qualquer', resolve: 'yes' }, 2],
  ['clear names', { list: 'Padaria Aurora\nTalho Beiro', resolve: 'yes', clear: 'yes' }, 1],
  ['names that none has', { list: 'Inexistente Qualquer\nInexistente Outra', resolve: 'yes' }, 1],
])('the credits left beside the answer to %s are those of the next page', async (_, fields, cost) => {
  const { visitor } = await createMember(service);
  const left = `Credits left: ${500 - cost}`;
  expect((await visitor.submit('/dashboard/screen', fields)).textOf('.lead')).toContain(left);
  expect(await visitor.textAt('/dashboard/screen', '.lead')).toContain(left);
});

test('every name of a list of over a hundred is sought, though none is found, and the button says how many are left', async () => {
  const { visitor } = await createMember(service);
  // Names with a word each that no company has.
  const word = (n: number) => `${String.fromCharCode(...[n / 26, n % 26].map((part) => 97 + part))}qzx`;
  const list = `${rows(205, (n) => `Xyzzy ${word(n)}`)}\nPadaria Aurora`;
  let page = await read(visitor, list);
  expect(page.countOf('button[name=price]')).toBe(0);
  const sought: string[] = [];
  while (page.countOf('[name=resolve]') > 0 && sought.length < 5) {
    sought.push(page.textOf('[name=resolve]')!);
    const tried = page.valueOf('[name=tried]') ?? '';
    page = await visitor.submit('/dashboard/screen', { list, resolve: 'yes', tried });
  }
  expect(sought).toEqual([
    'Find 100 of 206 names. Credits: 1 to 100',
    'Find 100 of 106 names. Credits: 1 to 100',
    'Find 6 names: 1 to 6 credits',
  ]);
  expect(page.valueOf('[name=choices]')).toBe(`206:${nif(70)}`);
  const tried = page.valueOf('[name=tried]');
  // Of another list no name was sought.
  const other = await visitor.submit('/dashboard/screen', { list: `Outra\n${list}`, tried });
  expect(other.textOf('[name=resolve]')).toBe('Find 100 of 207 names. Credits: 1 to 100');
  // Beside a choice nothing is screened before the list with the chosen NIFs was read.
  expect(page.countOf('button[name=price]')).toBe(0);
});

test('a row with a wrong number and a name is resolved by its name, and the file has it as it was pasted', async () => {
  const { visitor } = await createMember(service);
  const list = `${WRONG_CHECK_DIGIT};Padaria Aurora\n5,00003E+08;Talho Beirão Lda\n50000257;"Padaria Aurora Lda"`;
  const resolved = await visitor.submit('/dashboard/screen', { list, resolve: 'yes' });
  const choices = resolved.valueOf('[name=choices]');
  expect(choices).toBe(`1:${nif(70)} 2:${nif(71)} 3:${nif(70)}`);
  const taken = await visitor.submit('/dashboard/screen', { list, choices });
  expect(taken.textOf('[data-rows]')).toBe('3 rows: 2 companies, 1 repeated.');
  const screened = await run(visitor, pasted(taken)!.replaceAll('&quot;', '"'), 2);
  const lines = fileOf(screened).split('\r\n').slice(1, 4);
  expect(lines.map((line) => /^\d,"(?:[^"]|"")*"/.exec(line)![0])).toEqual(
    list.split('\n').map((row, index) => `${index + 1},"${row.replaceAll('"', '""')}"`),
  );
});

test('with credits for some, the others are named and not charged; with none it says why', async () => {
  const { visitor, accountId } = await createMember(service, { language: 'pt' });
  await changeLimits(service.sql, accountId, { includedCredits: 2 }, 'test');
  const page = await run(visitor, [1, 2, 3].map(nif).join('\n'), 3);
  expect(page.textOf('main')).toContain('não cobradas: 1.');
  expect(page.textOf('main')).toContain('2 créditos gastos');
  const none = await run(visitor, nif(4), 1);
  expect(none.textOf('[aria-labelledby=answer-title]')).toContain('Sem créditos');
  expect(none.textOf('textarea')).toBe(nif(4));
  expect(await used(accountId)).toBe(2);
  await changeLimits(service.sql, accountId, { includedCredits: 3 }, 'test');
  const rest = page.valueOf('#rest [name=list]')!;
  expect((await run(visitor, rest, 1)).textOf('#answer-title')).toBe('Numa lista de devedores: 1 de 1');
  expect(await used(accountId)).toBe(3);
});

const rows = (count: number, row: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => row(n)).join('\n');

test.each([
  ['n/d; 12', 'No NIF found'],
  [rows(1001, nif), 'It has 1,001 NIFs, and one list 1,000 at most'],
  ['a\n'.repeat(2001), 'It has 2,001 rows, and one list 2,000 at most'],
  [`${nif(1)} `.repeat(15_000), 'It has 15,000 rows, and one list 2,000 at most'],
  [`${nif(1)}${'\n'.repeat(3000)}${nif(2)}`, 'It has 3,001 rows, and one list 2,000 at most'],
])(
  'a list without a NIF, or beyond a bound, is refused at its field and costs nothing (%#)',
  async (list, fault) => {
    const { visitor, accountId } = await createMember(service);
    const page = await run(visitor, list, 1);
    expect([page.status, page.textOf('[role=alert]')]).toEqual([422, expect.stringContaining(fault)]);
    expect(page.textOf('[role=alert]')).toEndWith('Nothing was charged.');
    expect(page.attributesOf('textarea', 'aria-describedby')[0]).toContain('list-fault');
    expect(await used(accountId)).toBe(0);
  },
);

test('a table of a thousand rows is read, and a larger form is refused without a charge', async () => {
  const { visitor } = await createMember(service);
  const long = await read(visitor, `${nif(1)}\n${`${WRONG_CHECK_DIGIT}\n${nif(1)}\nn/d\n`.repeat(666)}\n`);
  expect(long.textOf('[data-rows]')).toBe(
    '1,999 rows: 1 company, 666 repeated, 666 not valid, 666 without a NIF.',
  );
  const table = (count: number) =>
    read(
      visitor,
      rows(count, (n) => `Fornecedor ${'x'.repeat(80)};${nif(n)}`),
    );
  expect((await table(1000)).textOf('[data-price]')).toContain('1,000 companies cost 1,000 credits.');
  const refused = await table(1900);
  expect(refused.status).toBe(413);
  expect(refused.textOf('.lead')).toMatch(/^The form is larger than 192 KiB\. .*Nothing was done or charged/);
});

test('a paid list is free for ten minutes: a reload, a second click, the same list again; then a reload shows the price, and is not charged', async () => {
  const { visitor, accountId } = await createMember(service);
  const sent = await formOf(visitor, `${nif(1)} ${nif(2)}`, 2);
  const send = () => visitor.post('/dashboard/screen', sent);
  const both = await Promise.all([send(), send()]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  const again = await send();
  for (const page of [...both, again, await run(visitor, sent.list, 2)])
    expect(page.textOf('#answer-title')).toBe('On a list of debtors: 0 of 2');
  expect(again.textOf('[data-free]')).toMatch(
    /^No credit spent: this list was charged before\. Until \d+ \w+ \d{4}, \d\d:\d\d \(UTC\), a reload or the same list costs nothing/,
  );
  expect(await used(accountId)).toBe(2);
  expect(again.countOf('[data-forget-form]')).toBe(0);
  await service.sql`UPDATE dashboard_attempts SET ends_at = now() WHERE key LIKE 'list %'`;
  await ageCharges();
  for (let reload = 0; reload < 2; reload += 1) {
    const page = await send();
    expect(page.textOf('[data-price]')).toContain('Nothing was charged now.');
    expect(page.textOf('#answer-title')).toBeNull();
  }
  expect(await used(accountId)).toBe(2);
  expect((await run(visitor, sent.list, 2)).textOf('[data-free]')).toStartWith('2 credits spent.');
  expect(await used(accountId)).toBe(4);
});

test('a sending in the last seconds of a charge promises no further time, so that the next one asks first', async () => {
  const { visitor, accountId } = await createMember(service);
  await run(visitor, nif(1), 1);
  await service.sql`UPDATE dashboard_attempts SET ends_at = now() WHERE key LIKE 'list %'`;
  const last = await run(visitor, nif(1), 1);
  expect(last.textOf('[data-free]')).toBe('No credit spent: this list was charged before.');
  await ageCharges();
  const next = await visitor.post('/dashboard/screen', await formOf(visitor, nif(1), 1));
  expect(next.textOf('[data-free]')).toStartWith('1 credit spent');
  expect(await used(accountId)).toBe(2);
});

test('a reload that is refused leaves the list paid: a later one is still free, until the same instant', async () => {
  const { visitor, accountId } = await createMember(service);
  const sent = await formOf(visitor, `${nif(1)} ${nif(2)}`, 2);
  const send = () => visitor.post('/dashboard/screen', sent);
  const endOf = (answer: PageAnswer) => answer.textOf('[data-free]')?.split('. ')[1];
  await changeLimits(service.sql, accountId, { requestsPerMinute: 1 }, 'test');
  const paid = await send();
  const refused = await send();
  await changeLimits(service.sql, accountId, { requestsPerMinute: 6000 }, 'test');
  const free = await poll(send, ({ text }) => !text.includes('rate-limit-exceeded'));
  expect([refused.textOf('[data-free]'), refused.textOf('#answer-title + p')]).toEqual([
    null,
    expect.stringContaining('rate-limit-exceeded'),
  ]);
  expect(free.textOf('[data-free]')).toStartWith('No credit spent');
  expect(endOf(free)).toBe(endOf(paid));
  expect(await used(accountId)).toBe(2);
});

test('a session that ended, and a form that is out of date, keep the list, and charge nothing', async () => {
  const { visitor, accountId, userId } = await createMember(service);
  const list = [1, 2, 3].map(nif).join('\n');
  const expired = await visitor.post('/dashboard/screen', { form_token: 'x', list, price: '3' });
  expect([expired.status, expired.textOf('#retry textarea')]).toEqual([403, list.replaceAll('\n', ' ')]);
  // With a new token, and without the price, which is asked again.
  expect(expired.attributesOf('#retry [name]', 'name')).toEqual(['form_token', 'list']);
  const evil = { Origin: 'https://evil.example' };
  expect((await visitor.post('/dashboard/screen', { form_token: 'x', list }, evil)).countOf('#retry')).toBe(
    0,
  );
  await service.sql`DELETE FROM dashboard_sessions WHERE "userId" = ${userId}`;
  const signedOut = await visitor.post('/dashboard/screen', { form_token: 'x', list, price: '3' });
  expect([signedOut.status, signedOut.textOf('[data-keep]')]).toEqual([403, list.replaceAll('\n', ' ')]);
  // A long list wants a live session.
  const long = await visitor.post('/dashboard/screen', { form_token: 'x', list: 'x'.repeat(33_000) });
  expect([long.status, long.textOf('h1')]).toEqual([403, 'You were signed out']);
  expect(long.countOf('[data-keep]')).toBe(0);
  expect(await used(accountId)).toBe(0);
});

test('of 40 lists of one browser whose senders wait, two are kept, and another browser’s still is', async () => {
  const sender = ({ cookies }: Visitor, body: string, bytes: number) =>
    sendText(
      service.baseUrl,
      `POST /dashboard/screen HTTP/1.1\r\nHost: ${new URL(service.baseUrl).host}\r\nConnection: close\r\n` +
        `Cookie: dashboard.browser=${cookies.get('dashboard.browser')}\r\n` +
        `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${bytes}\r\n\r\n${body}`,
    );
  const [{ visitor }, { visitor: other }] = [await createMember(service), await createMember(service)];
  const waiting = await Promise.all(Array.from({ length: 40 }, () => sender(visitor, 'list=kept', 20)));
  const answers: string[] = [];
  for (const { closed } of waiting) void closed.then((answer) => answers.push(answer));
  await until('the answers of the others', async () => answers.length === 38);
  expect(
    answers.filter((answer) => answer.includes('403 Forbidden') && !answer.includes('data-keep')),
  ).toHaveLength(38);
  const kept = await sender(other, 'list=mine', 9);
  expect(await kept.closed).toContain('data-keep>mine<');
  for (const { socket } of waiting) socket.destroy();
});

test('nothing of what a member pastes is stored', async () => {
  const { visitor } = await createMember(service);
  await run(visitor, nif(4711), 1);
  const tables = await service.sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`;
  for (const { name } of tables) {
    const [row] = await service.sql`
      SELECT count(*) AS found FROM ${service.sql(name)} AS stored WHERE stored::text LIKE ${`%${nif(4711)}%`}`;
    expect([name, row!.found]).toEqual([name, 0]);
  }
  expect(JSON.stringify(service.logLines)).not.toContain(nif(4711));
});
