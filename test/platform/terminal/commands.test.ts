/** What the commands make of their words. every-command.test.ts has the members of every answer, and the features have the rules. */
import { afterAll, describe, expect, test } from 'bun:test';
import { createAccount } from '../../../src/metering/accounts/account-store.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import { createCommandLine, runHere } from '../../support/command.ts';
import { storeCallCounts, storeCostlyErrorCounts } from '../../support/counts.ts';
import { storeRecord } from '../../support/records.ts';
import { createWorkbench } from '../../support/workbench.ts';
import { prepareCommands } from './every-command.ts';

const NIF = '500002576';
const DAY_S = 86_400;

const bench = await createWorkbench('postgres');
const cli = createCommandLine(bench.database.url);
/** Of every command, with ids of an account and a key. */
const every = await prepareCommands(bench);
afterAll(() => bench.close());

const create = async (...words: string[]) =>
  (await cli.json('account', 'create', '--name', 'Test', ...words)).id as string;
const createKeyOf = async (account: string, ...words: string[]) =>
  (await cli.json('key', 'create', account, ...words)) as { id: string; secret: string };

const NAMED = ['account', 'create', '--name', 'x', '--plan', 'plus'];
const WRONG = [
  ['nonsense'],
  ['account nonsense'],
  ['account show'],
  ['account show', 'a', 'b'],
  ['account list', '--nonsense'],
  ['account create', '--name'],
  ['migrate', 'now'],
  ['key create'],
  ['companies import', ''],
  ['companies import', 'a.csv', '--rejects', ''],
  ['debts import', '--kind', 'tax', '--date', '2026-02-28'],
  ['debts import', 'a.csv', '--kind', 'tax'],
  ['debts import', 'a.csv', '--date', '2026-02-28'],
  ['debts import', 'a.csv', '--kind', 'other', '--date', '2026-02-28'],
  ...['2026-02-29', '2026-2-9'].map((date) => ['debts import', 'a.csv', '--kind', 'tax', '--date', date]),
  ['debts export', '--kind', 'tax', '--output', ' '],
  ['account create'],
  ['account create', '--name', 'a\u001b[31mb'],
  [...NAMED, '--period-start', '2026-01-01T00:00:00'],
  ['account list', '--above', '-1'],
  ['account plan', 'acc_any', 'gold'],
  ['account limits', 'acc_any', '--requests-per-minute', '0'],
  ['account limits', 'acc_any', '--included-credits', '-1'],
  ['account limits', 'acc_any', '--spend-purchased', 'maybe'],
  ['account credits', 'acc_any'],
  ['account credits', 'acc_any', '--add', '0'],
  ['account credits', 'acc_any', '--add', '5', '--reference', ''],
  ['account delete', 'acc_any'],
  ['key create', 'acc_any', '--expires', 'tomorrow'],
  ['key expire', 'key_any'],
  ['key expire', 'key_any', '--never', '--at', '2999-01-01T00:00:00Z'],
  ...['-1', '1.5', '2592001', 'day'].map((overlap) => ['key rotate', 'key_any', '--overlap', overlap]),
  ['key limit', 'key_any'],
  ['key limit', 'key_any', '--credits', '50'],
  ['key limit', 'key_any', '--per', 'day'],
  ['key limit', 'key_any', '--credits', 'none', '--per', 'day'],
  ['key limit', 'key_any', '--credits', '-1', '--per', 'day'],
  ['key limit', 'key_any', '--credits', '50', '--per', 'week'],
  ['key limit', 'key_any', '--only', ''],
  ['key limit', 'key_any', '--only', 'search,money'],
  ...['500002577', '50000257', 'PT50000257', ''].map((nif) => ['companies forget', nif]),
];
test.each(WRONG.map((words) => [words.join(' '), words] as const))(
  'wrong usage ends with exit code 2: %s',
  async (_, [name, ...words]) => {
    expect((await cli.refusal(...name!.split(' '), ...words)).code).toBe(2);
  },
);

test('every command about an unknown account or key fails with one line and exit code 1', async () => {
  const { account, key, words } = every;
  let asked = 0;
  for (const [name, wordsOf] of Object.entries(words)) {
    if (!/^(account|key) /.test(name)) continue;
    const rest = await wordsOf();
    if (!rest.includes(account) && !rest.includes(key)) continue;
    const unknown = rest.map((word) => (word === account ? 'acc_none' : word === key ? 'key_none' : word));
    const { code, stderr } = await cli.refusal(...name.split(' '), ...unknown, '--json');
    expect([name, code, stderr]).toEqual([name, 1, expect.stringMatching(/^error: .*_none.*\n$/)]);
    asked += 1;
  }
  expect(asked).toBeGreaterThan(20);
});

test('a refusal says why in one line', async () => {
  const account = await create();
  const { id } = await createKeyOf(account);
  const test = await createKeyOf(account, '--test', '--only', 'search');
  const { id: revoked } = await createKeyOf(account);
  await cli.json('key', 'revoke', revoked);
  const budget = ['--credits', '50', '--per', 'day'];
  for (const [words, reason] of [
    [[...NAMED, '--period-start', '2999-01-01T00:00:00Z'], 'is in the future'],
    [[...NAMED, '--period-start', '2026-02-01T00:00:00Z', '--until', '2026-02-01T00:00:00Z'], 'until'],
    [['account', 'credits', account, '--add=-11'], 'only 0 purchased credits are unspent'],
    [['key', 'create', account, '--expires', '2020-01-01T00:00:00Z'], 'not in the future'],
    [['key', 'expire', id, '--at', '2020-01-01T00:00:00Z'], 'not in the future'],
    [['key', 'create', account, '--test', ...budget], 'test key'],
    [['key', 'limit', test.id, ...budget], 'test key'],
    [['key', 'limit', revoked, ...budget], 'revoked'],
    [['key', 'expire', revoked, '--never'], 'revoked'],
    [['companies', 'show', '503504564'], 'no record of 503504564 is stored'],
  ] as [string[], string][]) {
    const { code, stderr } = await cli.refusal(...words);
    expect([words, code, stderr]).toEqual([words, 1, expect.stringContaining(reason)]);
  }
});

describe('accounts', () => {
  test('the terms of Plus are those that are given, and a lapsed subscription is Free from the start', async () => {
    const id = await create('--plan', 'plus', '--period-start', '2026-01-31T12:00:00+01:00');
    expect((await cli.json('account', 'show', id)).period.start.slice(10)).toBe('T11:00:00.000Z');
    const until = new Date(Date.now() + 3_600_000).toISOString();
    expect((await cli.json('account', 'plan', id, 'plus', '--until', until)).period.end).toBe(until);
    const terms = ['--period-start', '2026-01-01T00:00:00Z', '--until', '2026-02-01T00:00:00Z'];
    expect(await cli.json(...NAMED, ...terms)).toMatchObject({ plan: 'free' });
  });

  test('a limit is the one that is given, and `plan` goes back to the plan’s', async () => {
    const id = await create();
    const limits = ['--requests-per-minute', '6000', '--included-credits', '0', '--spend-purchased', 'no'];
    const own = { requestsPerMinute: 6000, includedCredits: 0, spendPurchased: false };
    expect(await cli.json('account', 'limits', id, ...limits)).toMatchObject(own);
    expect(await cli.json('account', 'show', id)).toMatchObject(own);
    const back = ['--requests-per-minute', 'plan', '--included-credits', 'plan'];
    const ofPlan = { requestsPerMinute: 20, includedCredits: 500, spendPurchased: false };
    expect(await cli.json('account', 'limits', id, ...back)).toMatchObject(ofPlan);
  });

  test('a list has the accounts that meet both --email and --above', async () => {
    const id = await create();
    const { sql } = bench.database;
    await sql`
      INSERT INTO dashboard_users ("id", "name", "email", "emailVerified") VALUES ('bia', 'Bia', 'bia@example.com', true)`;
    await sql`INSERT INTO dashboard_members (user_id, account_id) VALUES ('bia', ${id})`;
    await sql`UPDATE balances SET used = 400 WHERE account_id = ${id}`;
    const listed = await cli.json('account', 'list', '--email', 'Bia@example.com', '--above', '80');
    expect(listed).toMatchObject([{ id, emails: ['bia@example.com'] }]);
    expect(await cli.json('account', 'list', '--email', 'bia@example.com', '--above', '81')).toEqual([]);
  });

  test('credits are kept with who added them: USER, else LOGNAME, else the name that the system has', async () => {
    const { exitCode, stdout } = Bun.spawnSync(['id', '-un']);
    const systemUser = exitCode === 0 ? stdout.toString().trim() : `uid ${process.getuid!()}`;
    const id = await create();
    for (const env of [{ USER: 'maria', LOGNAME: 'rui' }, { LOGNAME: 'rui' }, { USER: '', LOGNAME: '' }]) {
      const tools = { ...env, DATABASE_URL: bench.database.url };
      expect((await runHere(tools, 'account', 'credits', id, '--add', '1')).code).toBe(0);
    }
    const history = await cli.json('account', 'history', id);
    const actors = history.slice(1).map(({ actor }: { actor: string }) => actor);
    expect(actors).toEqual(['cli:maria', 'cli:rui', `cli:${systemUser}`]);
  });

  test('a deleted one leaves its history, and may be deleted again', async () => {
    const id = await create();
    const deleted = await cli.json('account', 'delete', id, '--yes');
    expect(await cli.json('account', 'delete', '--yes', id)).toEqual(deleted);
    expect((await cli.refusal('account', 'show', id)).code).toBe(1);
    expect((await cli.json('account', 'history', id)).at(-1)).toMatchObject({ kind: 'deleted' });
  });
});

describe('keys', () => {
  test('a secret is shown once, alone on the first line, and no list has it', async () => {
    const account = await create();
    const { stdout } = await cli.run('key', 'create', account);
    const secret = stdout.split('\n')[0]!;
    expect(secret).toMatch(/^svc_[a-z2-7]{40}$/);
    const test = await createKeyOf(account, '--test');
    const rotated = await cli.json('key', 'rotate', test.id);
    for (const one of [test.secret, rotated.secret]) expect(one).toMatch(/^svc_test_[a-z2-7]{40}$/);
    for (const words of [
      ['key', 'list', account],
      ['account', 'history', account],
      ['account', 'export', account],
    ])
      for (const form of [[], ['--json']])
        expect((await cli.run(...words, ...form)).stdout).not.toContain(secret.slice(12));
  });

  test('a budget, rights and a share are those that are given, and each goes by itself', async () => {
    const budget = ['--credits', '50', '--per', 'ever', '--requests-per-minute', '7'];
    const { id } = await createKeyOf(await create(), ...budget, '--only', 'debts,lookup');
    const first = {
      budget: { credits: 50, per: 'ever', used: 0, resets: null },
      ...{ only: ['lookup', 'debts'], requests_per_minute: 7 },
    };
    expect(await cli.json('key', 'show', id)).toMatchObject(first);
    const limit = (...words: string[]) => cli.json('key', 'limit', id, ...words);
    expect(await limit('--only', 'all')).toEqual({ id, ...first, only: null });
    expect(await limit('--credits', 'none')).toMatchObject({ budget: null, requests_per_minute: 7 });
    expect(await limit('--requests-per-minute', 'none')).toMatchObject({ requests_per_minute: null });
  });

  test('the overlap of a rotation is a day, or the seconds of --overlap', async () => {
    const { id, secret } = await createKeyOf(await create());
    const sinceS = Date.now() / 1000;
    const rotated = await cli.json('key', 'rotate', id);
    expect(rotated.secret).not.toBe(secret);
    expect(Date.parse(rotated.previousUntil) / 1000 - DAY_S).toBeWithin(sinceS - 1, Date.now() / 1000 + 1);
    const { previousUntil } = await cli.json('key', 'rotate', id, '--overlap', '0');
    expect(Date.parse(previousUntil)).toBeLessThanOrEqual(Date.now());
  });

  test('`key show` has the calls and errors of 30 days, and the last use of each secret', async () => {
    const { sql } = bench.database;
    const account = await create();
    const { id } = await createKeyOf(account);
    const { previousUntil: until } = await cli.json('key', 'rotate', id);
    await sql`INSERT INTO api_key_uses SELECT secret_sha256, '2026-11-23T08:15:00Z' FROM api_keys WHERE id = ${id}`;
    const today = sql`(now() AT TIME ZONE 'UTC')::date`;
    await storeCallCounts(
      sql,
      sql`VALUES (${account}, ${today}, ${id}, 'search', 3), (${account}, ${today} - 30, ${id}, 'search', 100)`,
    );
    const errors = sql`VALUES (${account}, ${today}, ${id}, '401', 412, 0), (${account}, ${today}, ${id}, '4xx', 7, 7)`;
    await storeCostlyErrorCounts(sql, errors);
    expect(await cli.json('key', 'show', id)).toMatchObject({
      calls: { search: 3, lookup: 0 },
      errors: { '401': 412, '4xx': 7 },
      errorCredits: 7,
      secrets: [
        { until: null, lastUsed: '2026-11-23T08:15:00.000Z' },
        { until, lastUsed: null },
      ],
    });
    const { stdout } = await cli.run('key', 'show', id);
    expect(stdout).toMatch(/^errors, 30 days +401: 412, 4xx: 7\ncost of errors +7 credits$/m);
  });

  test('a secret where an id belongs is not repeated, by any command', async () => {
    const account = await create();
    const { secret } = await createKeyOf(account);
    const ids = 'ids begin with key_, and `key list ACCOUNT` shows them';
    for (const given of [secret, secret.slice(0, 10), 'svc_']) {
      expect(await cli.refusal('key', 'revoke', given)).toEqual({
        code: 1,
        stderr: `error: that is a key's secret, or its beginning: ${ids}\n`,
      });
    }
    for (const [name, wordsOf] of Object.entries(every.words)) {
      if (!/^(account|key|companies) /.test(name)) continue;
      const rest = await wordsOf();
      const given = [every.account, every.key].find((id) => rest.includes(id)) ?? rest[0];
      if (given === undefined) continue;
      const words = rest.map((word) => (word === given ? secret : word));
      const { stderr } = await runHere({ DATABASE_URL: bench.database.url }, ...name.split(' '), ...words);
      expect([name, stderr]).toEqual([name, expect.not.stringContaining(secret.slice(0, 20))]);
    }
    for (const words of [[secret], ['revoke', 'key_none', secret], ['list', account, `--${secret}`]]) {
      const { code, stderr } = await cli.refusal('key', ...words);
      expect([code, stderr]).toEqual([2, expect.not.stringContaining(secret.slice(0, 20))]);
    }
  });
});

test('control characters of names and records reach no terminal, with --json and without', async () => {
  const name = 'a\u001b[31mred\u009b2J\u202eevil\nline';
  const { id } = await createAccount(bench.database.sql, { name, plan: 'free' }, 'test');
  await createKey(bench.database.sql, id, name, 'test');
  await storeRecord(bench.database.sql, NIF, name, new Date());
  for (const words of [
    ['account', 'list'],
    ['account', 'show', id],
    ['key', 'list', id],
    ['companies', 'show', NIF],
  ]) {
    const json = (await cli.run(...words, '--json')).stdout;
    expect(JSON.stringify(JSON.parse(json))).toContain(JSON.stringify(name));
    for (const text of [json, (await cli.run(...words)).stdout])
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  }
});
