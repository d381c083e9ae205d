import { afterAll, describe, expect, test } from 'bun:test';
import { createAccount } from '../../../src/metering/accounts/store.ts';
import { createCommandLine, runHere } from '../../support/command.ts';
import { createTestDatabase } from '../../support/database.ts';

const database = await createTestDatabase('cli_accounts');
const cli = createCommandLine(database.url);
afterAll(() => database.drop());

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const create = async (...words: string[]) =>
  (await cli.json('account', 'create', '--name', 'Test', ...words)).id as string;

describe('account create', () => {
  test('answers {id, name, plan}; the id never begins with a hyphen', async () => {
    const free = await cli.json('account', 'create', '--name', '  Padaria Ábaco, Lda ');
    expect(free).toEqual({
      id: expect.stringMatching(/^[a-z0-9][a-z0-9_]+$/),
      name: 'Padaria Ábaco, Lda',
      plan: 'free',
    });
    const plus = await cli.json('account', 'create', '--plan', 'plus', '--name', 'Plus');
    expect(plus).toEqual({ id: expect.any(String), name: 'Plus', plan: 'plus' });
  });

  test('anchors Plus where it is told, and a lapsed subscription is Free from the start', async () => {
    const id = await create('--plan', 'plus', '--period-start', '2026-01-31T12:00:00+01:00');
    const { period } = await cli.json('account', 'show', id);
    expect([period.start, period.end].map((text) => text.slice(10))).toEqual([
      'T11:00:00.000Z',
      'T11:00:00.000Z',
    ]);
    const terms = ['--period-start', '2026-01-01T00:00:00Z', '--until', '2026-02-01T00:00:00Z'];
    expect(await cli.json('account', 'create', '--name', 'Lapsed', '--plan', 'plus', ...terms)).toMatchObject(
      { plan: 'free' },
    );
  });

  test('no name, one that can’t be read, or an instant without a zone is wrong usage', async () => {
    for (const words of [
      [],
      ['--name', 'a\u001b[31mb'],
      ['--name', 'x', '--plan', 'plus', '--period-start', '2026-01-01T00:00:00'],
      // Postgres has no year 0, and JSON no year 10000.
      ['--name', 'x', '--plan', 'plus', '--period-start', '0001-01-01T00:00:00+10:00'],
      ['--name', 'x', '--plan', 'plus', '--until', '9999-12-31T23:59:59-10:00'],
    ]) {
      expect([words, (await cli.refusal('account', 'create', ...words)).code]).toEqual([words, 2]);
    }
  });

  test('a period that begins in the future, or ends before it begins, is refused', async () => {
    const words = ['account', 'create', '--name', 'x', '--plan', 'plus'];
    const future = await cli.refusal(...words, '--period-start', '2999-01-01T00:00:00Z');
    expect(future).toEqual({
      code: 1,
      stderr: 'error: --period-start 2999-01-01T00:00:00.000Z is in the future\n',
    });
    const backwards = ['--period-start', '2026-02-01T00:00:00Z', '--until', '2026-02-01T00:00:00Z'];
    expect((await cli.refusal(...words, ...backwards)).code).toBe(1);
  });
});

test('account show answers every member of docs/commands.md and no other', async () => {
  const id = await create();
  const shown = await cli.json('account', 'show', id);
  const now = new Date();
  const month = (offset: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1)).toISOString();
  expect(shown).toEqual({
    id,
    name: 'Test',
    plan: 'free',
    period: { start: month(0), end: month(1) },
    credits: 0,
    used: 0,
    keys: 0,
    requestsPerMinute: 20,
    includedCredits: 500,
    spendPurchased: true,
    suspended: false,
    emails: [],
  });
});

test('account list answers all accounts, oldest first, with the members of docs/commands.md', async () => {
  const ids = [await create(), await create('--plan', 'plus')];
  await cli.json('account', 'credits', ids[0]!, '--add', '7');
  await cli.json('account', 'suspend', ids[1]!);
  const listed = await cli.json('account', 'list');
  expect(listed.filter(({ id }: { id: string }) => ids.includes(id))).toEqual([
    { id: ids[0], name: 'Test', plan: 'free', credits: 7, suspended: false, emails: [] },
    { id: ids[1], name: 'Test', plan: 'plus', credits: 0, suspended: true, emails: [] },
  ]);
});

test('account list --email and --above list the accounts that meet both', async () => {
  const id = await create();
  await database.sql`
    INSERT INTO dashboard_users ("id", "name", "email", "emailVerified") VALUES ('ana', 'Ana', 'ana@example.com', true)`;
  await database.sql`INSERT INTO dashboard_members (user_id, account_id) VALUES ('ana', ${id})`;
  await database.sql`UPDATE balances SET used = 400 WHERE account_id = ${id}`;
  const listed = await cli.json('account', 'list', '--email', 'Ana@example.com', '--above', '80');
  expect(listed).toMatchObject([{ id, emails: ['ana@example.com'] }]);
  expect(await cli.json('account', 'list', '--email', 'ana@example.com', '--above', '81')).toEqual([]);
  expect((await cli.json('account', 'show', id)).emails).toEqual(['ana@example.com']);
  expect((await cli.refusal('account', 'list', '--above', '-1')).code).toBe(2);
});

describe('account plan', () => {
  test('answers {id, plan, period}', async () => {
    const id = await create();
    const plus = await cli.json('account', 'plan', id, 'plus');
    expect(plus).toEqual({
      id,
      plan: 'plus',
      period: { start: expect.stringMatching(INSTANT), end: expect.stringMatching(INSTANT) },
    });
    expect((await cli.json('account', 'plan', id, 'free')).plan).toBe('free');
  });

  test('--until cuts the period and is exclusive', async () => {
    const id = await create();
    const until = new Date(Date.now() + 3_600_000).toISOString();
    expect((await cli.json('account', 'plan', id, 'plus', '--until', until)).period.end).toBe(until);
  });

  test('another plan is wrong usage', async () => {
    expect((await cli.refusal('account', 'plan', await create(), 'gold')).code).toBe(2);
  });
});

describe('account limits', () => {
  test('answers {id, requestsPerMinute, includedCredits, spendPurchased}; `plan` goes back to the plan’s', async () => {
    const id = await create();
    expect(await cli.json('account', 'limits', id)).toEqual({
      id,
      requestsPerMinute: 20,
      includedCredits: 500,
      spendPurchased: true,
    });
    await cli.json('account', 'limits', id, '--requests-per-minute', '6000');
    const own = { requestsPerMinute: 6000, includedCredits: 0 };
    expect(await cli.json('account', 'limits', '--included-credits', '0', id)).toMatchObject(own);
    expect(await cli.json('account', 'show', id)).toMatchObject(own);
    const back = ['--requests-per-minute', 'plan', '--included-credits', 'plan'];
    const ofPlan = { requestsPerMinute: 20, includedCredits: 500 };
    expect(await cli.json('account', 'limits', id, ...back)).toMatchObject(ofPlan);
  });

  test('--spend-purchased yes or no says whether purchased credits are spent', async () => {
    const id = await create();
    for (const word of ['no', 'yes']) {
      const spent = { spendPurchased: word === 'yes' };
      expect(await cli.json('account', 'limits', id, '--spend-purchased', word)).toMatchObject(spent);
      expect(await cli.json('account', 'show', id)).toMatchObject(spent);
    }
    expect((await cli.refusal('account', 'limits', id, '--spend-purchased', 'maybe')).code).toBe(2);
  });

  test('a limit that makes no sense is wrong usage', async () => {
    for (const words of [
      ['--requests-per-minute', '0'],
      ['--included-credits', '-1'],
    ]) {
      expect([words, (await cli.refusal('account', 'limits', 'acc_any', ...words)).code]).toEqual([words, 2]);
    }
  });
});

/** The system's name of this process's user; `uid N` if it has none. */
function systemUser(): string {
  const { exitCode, stdout } = Bun.spawnSync(['id', '-un']);
  return exitCode === 0 ? stdout.toString().trim() : `uid ${process.getuid!()}`;
}

describe('account credits', () => {
  test('answers {id, credits}; the same reference twice adds once', async () => {
    const id = await create();
    expect(await cli.json('account', 'credits', id, '--add', '100', '--note', 'gift')).toEqual({
      id,
      credits: 100,
    });
    const sale = ['account', 'credits', id, '--reference', 'invoice-17', '--add', '50'];
    expect(await cli.json(...sale)).toEqual({ id, credits: 150 });
    expect(await cli.json(...sale)).toEqual({ id, credits: 150 });
    const events = await database.sql`
      SELECT actor, credits, balance, note, reference FROM account_events
      WHERE account_id = ${id} AND kind = 'credits' ORDER BY id`;
    const actor = `cli:${systemUser()}`;
    expect(events.map((row) => ({ ...row }))).toEqual([
      { actor, credits: 100, balance: 100, note: 'gift', reference: null },
      { actor, credits: 50, balance: 150, note: '', reference: 'invoice-17' },
    ]);
  });

  test('are kept with who added them: USER, else LOGNAME, else the name that the system has', async () => {
    const id = await create();
    for (const env of [{ USER: 'maria', LOGNAME: 'rui' }, { LOGNAME: 'rui' }, { USER: '', LOGNAME: '' }]) {
      const tools = { ...env, DATABASE_URL: database.url };
      expect((await runHere(tools, 'account', 'credits', id, '--add', '1')).code).toBe(0);
    }
    const events = await database.sql`
      SELECT actor FROM account_events WHERE account_id = ${id} AND kind = 'credits' ORDER BY id`;
    expect(events.map(({ actor }) => actor)).toEqual(['cli:maria', 'cli:rui', `cli:${systemUser()}`]);
  });

  test('takes unspent credits back, and says how many are left if those are fewer', async () => {
    const id = await create();
    await cli.json('account', 'credits', id, '--add', '100');
    expect(await cli.json('account', 'credits', id, '--add', '-90')).toEqual({ id, credits: 10 });
    expect(await cli.refusal('account', 'credits', id, '--add=-11')).toEqual({
      code: 1,
      stderr: 'error: only 10 purchased credits are unspent\n',
    });
  });

  test('no amount, one that makes no sense, and an empty reference are wrong usage', async () => {
    for (const words of [
      [],
      ['--add', '0'],
      ['--add', '-0'],
      ['--add', '-'],
      ['--add', '5', '--reference', ''],
    ]) {
      expect([words, (await cli.refusal('account', 'credits', 'acc_any', ...words)).code]).toEqual([
        words,
        2,
      ]);
    }
  });
});

test('account suspend and resume answer {id, suspended}, as often as they are asked', async () => {
  const id = await create();
  for (const [word, suspended] of [
    ['suspend', true],
    ['suspend', true],
    ['resume', false],
    ['resume', false],
  ] as const) {
    expect(await cli.json('account', word, id)).toMatchObject({ id, suspended });
    expect((await cli.json('account', 'show', id)).suspended).toBe(suspended);
  }
});

test('every command about an unknown account fails with one line and exit code 1', async () => {
  const commands = [
    ['show', 'acc_none'],
    ['plan', 'acc_none', 'plus'],
    ['plan', 'acc_none', 'free'],
    ['limits', 'acc_none'],
    ['limits', 'acc_none', '--included-credits', '5'],
    ['credits', 'acc_none', '--add', '1'],
    ['suspend', 'acc_none'],
    ['resume', 'acc_none'],
  ];
  const expected = { code: 1, stderr: 'error: there is no account "acc_none": see `account list`\n' };
  const outcomes = await Promise.all(commands.map((words) => cli.refusal('account', ...words, '--json')));
  expect(outcomes).toEqual(commands.map(() => expected));
});

test('control characters of a name reach no terminal, with --json and without', async () => {
  const name = 'a\u001b[31mred\u009b2J\u202eevil\nline';
  const { id } = await createAccount(database.sql, { name, plan: 'free' }, 'test');
  for (const words of [['list'], ['show', id]]) {
    const { stdout } = await cli.run('account', ...words);
    expect(stdout).toContain('a·[31mred·2J·evil·line');
    const json = await cli.run('account', ...words, '--json');
    expect(json.stdout.trimEnd()).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(JSON.stringify(JSON.parse(json.stdout))).toContain(JSON.stringify(name));
  }
});
