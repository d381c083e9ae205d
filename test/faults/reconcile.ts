import { generateCompany, seededRandom } from '../../bench/lib/names.ts';
import type { ActivityAnswer } from '../../src/metering/activity/activity-schema.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { createKnownAccount, type KnownAccount } from './accounts.ts';
import { callsAbout } from './calls.ts';
import type { Instance, InstanceRun } from './fleet.ts';
import { ANSWER_TIMEOUT_MS } from './load.ts';

/**
 * A client that reconciles the `X-Credits` of its answers with `GET /activity`, as a customer can. It alone uses its account. It sends
 * requests without an `Idempotency-Key`, and gives each its own `X-Request-Id`.
 */
export interface Reconciler {
  account: KnownAccount;
  /** Stops sending, and waits for the last answer. */
  stop(): Promise<void>;
  /**
   * Compares until all agree or the time is up, because the roll-up writes the activity some seconds after a call.
   * @param ended runs that ended, which may have lost refunds
   */
  reconcile(ended: InstanceRun[], timeoutMs: number): Promise<{ failures: string[]; summary: string }>;
}

const EVERY_MS = 40;
const MAX_IN_FLIGHT = 100;
/** Pause of the reader that follows the activity during the run. */
const FOLLOW_EVERY_MS = 500;
const LISTED = 15;
const INCLUDED = 1_000_000;

interface Sent {
  run: InstanceRun;
  /** The most that it can cost. */
  most: number;
  /** `X-Credits`, or 0 without it; `null` means that there was no answer. */
  credits: number | null;
}

/** A reader of the activity, and what it has read. */
interface Reader {
  rows: ActivityAnswer['data'];
  next?: string;
}

/** @param companies how many the directory has */
export async function startReconciler(
  sql: Sql,
  instances: Instance[],
  { checkout, companies, seed }: { checkout: string; companies: number; seed: number },
): Promise<Reconciler> {
  const account = await createKnownAccount(sql, checkout, 'Reconciler', INCLUDED);
  const random = seededRandom(seed ^ 0x5a45);
  const sent = new Map<string, Sent>();
  const wrong = new Set<string>();
  const inFlight = new Set<Promise<void>>();
  const running = () => instances.flatMap(({ run }) => run ?? []);
  const pick = <T>(list: T[]) => list[Math.floor(random() * list.length)];
  const follower: Reader = { rows: [] };
  let isStopped = false;

  /** Searches, lookups and lists. */
  function question(): { path: string; nifs?: string[]; most: number } {
    const company = () => generateCompany(Math.floor(random() * companies * 1.1));
    const nifs = Array.from({ length: LISTED }, () => company().nif);
    const draw = random();
    if (draw < 0.1) return { path: '/lookups', nifs, most: LISTED };
    if (draw < 0.2) return { path: '/debts', nifs, most: LISTED };
    if (draw < 0.25) return { path: '/companies/123', most: 1 };
    const calls = callsAbout(company());
    return { path: draw < 0.6 ? calls.lookup : calls.search, most: 1 };
  }

  async function send(run: InstanceRun): Promise<void> {
    const { path, nifs, most } = question();
    const id = crypto.randomUUID();
    const request: Sent = { run, most, credits: null };
    sent.set(id, request);
    const answer = await ask(run, account.key, path, id, nifs).catch(() => null);
    if (answer === null) return;
    if (answer.credits === null && answer.status < 500)
      wrong.add(`${answer.status} ${path} without X-Credits`);
    request.credits = answer.credits ?? 0;
  }

  /** Reads a page. @returns whether another one follows @throws if it was not answered 200 */
  async function readOn(reader: Reader): Promise<boolean> {
    const run = pick(running());
    if (run === undefined) throw new Error('no instance runs');
    const after = reader.next === undefined ? '' : `?after=${reader.next}`;
    const { status, body } = await ask(run, account.key, `/activity${after}`, crypto.randomUUID());
    if (status !== 200) throw new Error(`GET /activity was answered ${status}`);
    const { data, next, more } = body as ActivityAnswer;
    reader.rows.push(...data);
    reader.next = next;
    return more;
  }

  async function readAll(reader: Reader): Promise<ActivityAnswer['data']> {
    while (await readOn(reader));
    return reader.rows;
  }

  /** A reader without an answer goes on from its last `next`. */
  async function follow(): Promise<void> {
    for (; !isStopped; await Bun.sleep(FOLLOW_EVERY_MS)) await readAll(follower).catch(() => {});
  }

  async function compare(ended: InstanceRun[]): Promise<{ failures: string[]; summary: string }> {
    const followed = await readAll(follower);
    const rows = await readAll({ rows: [] });
    const usage = await ask(running()[0]!, account.key, '/usage', crypto.randomUUID());
    const { used } = (usage.body as { data: { quotas: { requests: { used: number } } } }).data.quotas
      .requests;
    const failures = [...wrong];
    const check = (isTrue: boolean, failure: string) => isTrue || failures.push(failure);

    check(new Set(rows.map(({ id }) => id)).size === rows.length, 'the activity has a row twice');
    check(
      rows.length === followed.length && rows.every(({ id }, index) => id === followed[index]!.id),
      `the activity has ${rows.length} rows, and ${followed.length} for a reader that followed it`,
    );
    const total = sum(rows.map(({ credits }) => credits));
    check(total === used, `the rows of the activity sum to ${total}, and the account has used ${used}`);

    const costing = Map.groupBy(
      rows.filter(({ kind }) => kind !== 'answer'),
      ({ request }) => request,
    );
    const unsent = costing.keys().filter((id) => id === null || !sent.has(id));
    check([...unsent].length === 0, 'the activity has a charge or a return of a request that was never sent');
    const sums = { answered: 0, header: 0, unseen: 0, unseenCharged: 0, lost: 0 };
    for (const [id, { run, most, credits }] of sent) {
      const found = costing.get(id) ?? [];
      const charged = sum(found.map((row) => row.credits));
      const charges = found.filter(({ kind }) => kind === 'charge').length;
      check(charged <= 0 || charges === 1, `request ${id} has ${charges} charges`);
      if (credits === null) {
        sums.unseen += 1;
        sums.unseenCharged += charged;
        check(charged >= 0 && charged <= most, `request ${id} has no answer and is charged ${charged}`);
        continue;
      }
      sums.answered += 1;
      sums.header += credits;
      // A process that ends may lose a refund that it has answered.
      const isLost = charged > credits && charged <= most && ended.includes(run);
      if (isLost) sums.lost += charged - credits;
      check(
        charged === credits || isLost,
        `request ${id} has X-Credits ${credits} and is charged ${charged}`,
      );
    }
    const returns = rows.filter(({ kind }) => kind === 'return').length;
    const summary =
      `${sent.size} unkeyed requests: ${sums.answered} answered, X-Credits sum to ${sums.header}; ${sums.unseen} without an answer ` +
      `are charged ${sums.unseenCharged}; ended instances lost refunds of ${sums.lost}; the account used ${used}; ` +
      `${rows.length} rows of activity, with charges of ${costing.size} requests and ${returns} returns`;
    return { failures, summary };
  }

  const timer = setInterval(() => {
    const run = pick(running());
    if (run === undefined || inFlight.size >= MAX_IN_FLIGHT) return;
    const sending = send(run).finally(() => inFlight.delete(sending));
    inFlight.add(sending);
  }, EVERY_MS);
  const following = follow();

  return {
    account,
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await Promise.all([...inFlight, following]);
    },
    async reconcile(ended, timeoutMs) {
      const beganAtMs = performance.now();
      for (;;) {
        const result = await compare(ended).catch((error) => ({ failures: [String(error)], summary: '' }));
        if (result.failures.length === 0 || performance.now() - beganAtMs > timeoutMs) return result;
        await Bun.sleep(FOLLOW_EVERY_MS);
      }
    },
  };
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

/** @returns the answer, with its `X-Credits` @throws if there is none */
async function ask({ service }: InstanceRun, key: string, path: string, id: string, nifs?: string[]) {
  const response = await fetch(`http://${service.host}:${service.port}/api/v1${path}`, {
    headers: {
      Authorization: `Bearer ${key}`,
      'X-Request-Id': id,
      ...(nifs && { 'Content-Type': 'application/json' }),
    },
    ...(nifs && { method: 'POST', body: JSON.stringify({ nifs }) }),
    // A reused connection may break, and fetch would send the request a second time.
    keepalive: false,
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  });
  const body: unknown = await response.json();
  const credits = response.headers.get('X-Credits');
  return { status: response.status, credits: credits === null ? null : Number(credits), body };
}
