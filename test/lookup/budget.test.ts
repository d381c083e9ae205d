import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createKey } from '../../src/keys/store.ts';
import { createRefresher } from '../../src/lookup/refresh.ts';
import { createCompanyReader } from '../../src/lookup/store.ts';
import { createLogTo } from '../../src/observability/log.ts';
import { type Api, ask, startApi } from '../api/support.ts';
import { createVisitor, signUp } from '../dashboard/visitor.ts';
import { nif } from '../directory/support.ts';
import { nifPtFound } from '../support/provider.ts';

/** Of an account with the Free plan's 20 requests per minute. */
const PER_DAY = 200;

let api: Api;
let next = 850;
beforeAll(async () => {
  api = await startApi({ env: { SIGN_UP: 'open' } });
  api.provider.answerAll((number) => nifPtFound(number));
});
afterAll(() => api.stop());

const asked = (number: string) => api.provider.lookups().filter((request) => request.nif === number).length;
const look = (number: string, key: string) => ask(api, `/companies/${number}`, { key });

/** Sets what an account has caused, as many days ago. */
async function setRefreshes(accountId: string, refreshes: number, daysAgo = 0): Promise<void> {
  await api.sql`
    INSERT INTO account_refreshes (account_id, day, refreshes)
    VALUES (${accountId}, (now() AT TIME ZONE 'UTC')::date - ${daysAgo}::integer, ${refreshes})
    ON CONFLICT (account_id) DO UPDATE SET day = excluded.day, refreshes = excluded.refreshes`;
}

async function refreshesOf(accountId: string): Promise<number> {
  const [row] = await api.sql`SELECT refreshes FROM account_refreshes WHERE account_id = ${accountId}`;
  return row?.refreshes ?? 0;
}

async function refusals(): Promise<number> {
  const metrics = await (await fetch(`${api.baseUrl}/metrics`)).text();
  return Number(/^refreshes_refused_total (\d+)$/m.exec(metrics)![1]);
}

describe("an account's refreshes of a day", () => {
  test('beyond them a lookup is a 502 that costs its credit, and no source is asked; fresh records are answered', async () => {
    const { accountId, key } = await api.caller();
    const [last, refused] = [nif(next++), nif(next++)];
    const before = await refusals();
    await setRefreshes(accountId, PER_DAY - 1);
    expect((await look(last, key)).status).toBe(200);
    for (let lookup = 0; lookup < 2; lookup += 1) {
      const { status, kind, body } = await look(refused, key);
      expect([status, kind]).toEqual([502, 'company-lookup-failed']);
      expect(body.detail).toContain('used up its refreshes of the day');
    }
    expect([asked(last), asked(refused)]).toEqual([1, 0]);
    expect((await look(last, key)).status).toBe(200);
    expect((await api.ledger({ accountId })).used).toBe(4);
    expect(await refreshesOf(accountId)).toBe(PER_DAY);
    expect((await refusals()) - before).toBe(2);
  });

  test('are its own: another account refreshes the same company', async () => {
    const [poor, rich] = [await api.caller(), await api.caller()];
    const number = nif(next++);
    await setRefreshes(poor.accountId, PER_DAY);
    expect((await look(number, poor.key)).status).toBe(502);
    expect((await look(number, rich.key)).status).toBe(200);
    // What is stored now is for all.
    expect((await look(number, poor.key)).status).toBe(200);
  });

  test('begin again the next day', async () => {
    const { accountId, key } = await api.caller();
    await setRefreshes(accountId, PER_DAY, 1);
    expect((await look(nif(next++), key)).status).toBe(200);
    expect(await refreshesOf(accountId)).toBe(1);
  });

  test("grow with the account's requests per minute", async () => {
    const { accountId, key } = await api.caller({ limits: { requestsPerMinute: 21 } });
    await setRefreshes(accountId, PER_DAY + 9);
    expect((await look(nif(next++), key)).status).toBe(200);
    expect((await look(nif(next++), key)).status).toBe(502);
  });

  test('count questions, not lookups: a crowd that waits for one refresh takes one', async () => {
    const { accountId, key } = await api.caller();
    const number = nif(next++);
    const answers = await Promise.all(Array.from({ length: 15 }, () => look(number, key)));
    expect(answers.map(({ status }) => status)).toEqual(Array(15).fill(200));
    expect([await refreshesOf(accountId), asked(number)]).toEqual([1, 1]);
  });

  test('are never exceeded by lookups at the same moment, on two instances', async () => {
    const { accountId, key } = await api.caller();
    const other = await api.startInstance();
    await setRefreshes(accountId, PER_DAY - 5);
    const numbers = Array.from({ length: 12 }, () => nif(next++));
    const answers = await Promise.all(
      numbers.map((number, index) => ask(index % 2 === 0 ? api : other, `/companies/${number}`, { key })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(numbers.filter((number) => asked(number) > 0)).toHaveLength(5);
    await other.stop();
  });

  test("are shared by the API and the dashboard's Try it", async () => {
    const visitor = createVisitor(api.baseUrl);
    const { accountId } = await signUp(visitor);
    const { secret: key } = await createKey(api.sql, accountId, '', 'test');
    await setRefreshes(accountId, PER_DAY - 2);
    expect((await look(nif(next++), key)).status).toBe(200);
    const tryIt = async () => {
      const page = await visitor.submit('/dashboard/try', { q: nif(next++), kind: 'lookup' });
      return page.textOf('.badge[role=status]');
    };
    expect([await tryIt(), await tryIt()]).toEqual(['200', '502']);
    expect((await look(nif(next++), key)).status).toBe(502);
  });
});

test('an account without a budget that is first to ask refuses no other account that waits with it', async () => {
  const { sql } = api;
  const [poor, rich] = [await api.caller(), await api.caller()];
  await setRefreshes(poor.accountId, PER_DAY);
  const details = { title: 'found', address: '', zipcode: '', city: '', activity: '', status: '', cae: '' };
  const refresherOf = () =>
    createRefresher({
      sql,
      providerTimeoutMs: 1000,
      ...createCompanyReader(sql, 60),
      log: createLogTo({ write() {} }),
      sources: [
        {
          name: 'nif.pt',
          find: async () => ({
            kind: 'found',
            details: { ...details, nature: '', capital: '0', capitalCurrency: 'EUR' },
          }),
          close: async () => {},
        },
      ],
    });
  const payer = ({ accountId }: { accountId: string }) => ({ accountId, requestsPerMinute: 20 });
  const here = refresherOf();
  for (const there of [here, refresherOf()]) {
    const number = nif(next++);
    const results = [here.refresh(number, payer(poor)), there.refresh(number, payer(rich))];
    expect(await Promise.all(results)).toEqual(['over-budget', 'found']);
  }
});
