/** Readers of changes that never stop, on two instances, while datasets are imported, repeated, forced and killed. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import { countMessages, killCommandAt } from '../../support/command.ts';
import { nif } from '../../support/companies.ts';
import { createFolder } from '../../support/folder.ts';
import { type Amounts, debtsFile, importBrackets } from './debts-support.ts';

const KINDS = ['tax', 'social-security'] as const;
type Kind = (typeof KINDS)[number];
const COMPANIES = Array.from({ length: 120 }, (_, n) => nif(n));
const ROUNDS = 12;
const KILLS = 4;

type Dataset = Record<string, Amounts>;
type Seen = { id: string; kind: string; nif: string; before: unknown; after: unknown };

/** Some two thirds of the companies, a few of them with another bracket in every round. */
function datasetOf(round: number): Dataset {
  const has = COMPANIES.filter((_, n) => (n * 7 + round * 11) % 3 !== 0);
  return Object.fromEntries(has.map((company, n) => [company, [100 * ((n + round) % 4), null] as const]));
}

const folder = createFolder('follow');
const api = await startApi();
const other = await api.startInstance();
afterAll(async () => {
  await api.stop();
});

test('a reader that goes on from `next` sees every change once, in order, whatever is imported meanwhile', async () => {
  const start = datasetOf(0);
  for (const kind of KINDS) await importBrackets(api.database, start, { kind });
  const { key } = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
  let isDone = false;
  let answers = 0;

  /** Reads until the imports are over, and then to the end. Each request goes to the other instance. */
  async function follow(filter: { kinds?: string[]; nifs?: string[] }): Promise<Seen[]> {
    const seen: Seen[] = [];
    let next = 'chg_0';
    for (;;) {
      const isLast = isDone;
      const at = answers++ % 2 === 0 ? api : other;
      const headers = { 'Content-Type': 'application/json' };
      const body = JSON.stringify({ after: next, ...filter });
      const answer = await ask(at, '/debts/changes', { key, method: 'POST', headers, body });
      if (answer.status === 503) continue; // from a busy machine; a reader asks again
      expect(answer.status).toBe(200);
      seen.push(...answer.body.data);
      next = answer.body.next;
      if (isLast && !answer.body.more) return seen;
    }
  }

  const followed = COMPANIES.filter((_, n) => n % 5 === 0);
  const reading = Promise.all([
    follow({}),
    follow({ kinds: ['tax'] }),
    follow({ nifs: followed, kinds: ['social_security'] }),
  ]);
  try {
    await importAll();
  } finally {
    isDone = true;
  }
  const [all, ofTax, ofFollowed] = await reading;

  const ids = all.map(({ id }) => Number(id.slice('chg_'.length)));
  const written = await api.sql<{ number: number }[]>`SELECT number FROM debt_changes ORDER BY number`;
  expect(ids).toEqual(written.map(({ number }) => number));
  expect(ids.length).toBeGreaterThan(ROUNDS);
  expect(ofTax).toEqual(all.filter(({ kind }) => kind === 'tax'));
  expect(ofFollowed).toEqual(
    all.filter((change) => change.kind === 'social_security' && followed.includes(change.nif)),
  );
  for (const kind of KINDS) expect(replay(start, all, kind)).toEqual(await stored(kind));
});

/** Imports of both kinds at once, each twice; and between them imports that are killed at every stage. */
async function importAll(): Promise<void> {
  const env = { DATABASE_URL: api.env.DATABASE_URL! };
  const wordsOf = async (round: number) => {
    const path = join(folder, `${round}.csv`);
    await Bun.write(path, debtsFile(datasetOf(round)));
    return ['debts', 'import', path, '--kind', 'tax', '--date', '2026-10-31', '--force', '--force'];
  };
  const total = await countMessages(env, ...(await wordsOf(1)));
  for (let round = 2; round < ROUNDS; round += 1) {
    const kills = round % 2 === 0 && round / 2 <= KILLS ? [round / 2 - 1] : [];
    await Promise.all([
      // The last messages of an import are its transaction.
      ...kills.map(async (kill) =>
        killCommandAt({ fraction: 1 - (kill + 1) / total, total }, env, ...(await wordsOf(round))),
      ),
      ...KINDS.map((kind) => importBrackets(api.database, datasetOf(round + 1), { kind })),
      importBrackets(api.database, datasetOf(round + 1), { kind: 'tax', date: '2026-11-01' }),
    ]);
  }
}

async function stored(kind: Kind): Promise<Record<string, unknown>> {
  const rows = await api.sql<{ nif: string; start: number; end: number | null }[]>`
    SELECT nif, start_amount AS start, end_amount AS end FROM debts WHERE kind = ${kind}`;
  return Object.fromEntries(rows.map(({ nif, start, end }) => [nif, { start, end }]));
}

/** Applies the changes to the first dataset. Each change must fit the state before it. @returns the last dataset */
function replay(first: Dataset, changes: Seen[], kind: Kind): Record<string, unknown> {
  const state: Record<string, unknown> = Object.fromEntries(
    Object.entries(first).map(([company, [start, end]]) => [company, { start, end }]),
  );
  for (const change of changes.filter((each) => each.kind === kind.replace('-', '_'))) {
    expect(change.before).toEqual(state[change.nif] ?? null);
    if (change.after === null) delete state[change.nif];
    else state[change.nif] = change.after;
  }
  return state;
}
