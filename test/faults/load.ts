import { generateCompany, seededRandom } from '../../bench/lib/names.ts';
import type { KnownAccount } from './accounts.ts';
import type { Instance, InstanceRun } from './fleet.ts';

/** Credits of one account's requests, by what the caller got. A batch lookup counts each item. */
export interface Seen {
  /** Answers that cost a credit: 200, 400, 404, 502 and 500 search-failed, of searches and lookups. */
  priced: number;
  /** Answers that cost nothing. */
  refused: number;
  /** Requests without an answer: they may or may not be charged. */
  unseen: number;
  /** 503 answers that an ended instance may not have refunded. */
  doubtful: number;
}

export interface Load {
  seen: Map<string, Seen>;
  /** Answers, and items of batch lookups, by status and kind of problem: `500 search-failed`. */
  answers: Map<string, number>;
  /** Answers that the service must never give here: 401, internal-error. */
  wrong: string[];
  slowestMs: number;
  /** Of requests with an `Idempotency-Key`, which wait for another sending. */
  slowestKeyedMs: number;
  /** Sends a keyed list of ten companies, three times, for the last ten credits of an account that sends nothing else. */
  spendLast(account: KnownAccount): Promise<void>;
  /** Sends searches, one after another, until one is refused: its key has spent its budget. */
  drain(account: KnownAccount): Promise<void>;
  /** Ends the load and waits for the last answer. */
  stop(): Promise<void>;
}

/** The caller gives up after this: far beyond every timeout of the service. */
const ANSWER_TIMEOUT_MS = 30_000;
/** No request is sent while so many are in flight. */
const MAX_IN_FLIGHT = 400;
const TICK_MS = 20;
/** NIFs in a batch lookup, the most that one takes. */
const BATCH = 100;
/** NIFs in a list of companies for their debts. */
export const SCREENED = 10;
/** They are drawn from so few companies that most are fresh: a batch refreshes ten. */
const BATCHED_COMPANIES = 150;

interface Question {
  path: string;
  /** Of a batch lookup, or a list of companies for their debts. */
  nifs?: string[];
  /** Sent with this key by several clients, of which one is charged. */
  idempotencyKey?: string;
  /** The most that it can cost. */
  credits: number;
  /** Whether its account sends nothing else, and has no further credit. */
  isLast?: boolean;
}

/** The status and the end of the problem's type, or '' for a success. */
interface Outcome {
  status: number;
  kind: string;
}

const noneSeen = (): Seen => ({ priced: 0, refused: 0, unseen: 0, doubtful: 0 });

/** Sends requests at a fixed rate to the instances that run, until `stop`. */
export function startLoad(
  instances: Instance[],
  accounts: KnownAccount[],
  options: { perSecond: number; companies: number; seed: number },
): Load {
  const random = seededRandom(options.seed);
  const pick = <T>(list: T[]) => list[Math.floor(random() * list.length)]!;
  const running = () => instances.flatMap((instance) => instance.run ?? []);
  const inFlight = new Set<Promise<void>>();
  const startedAtMs = performance.now();
  let sent = 0;
  let ended = false;
  const load: Load = {
    seen: new Map(accounts.map(({ id }) => [id, noneSeen()])),
    answers: new Map(),
    wrong: [],
    slowestMs: 0,
    slowestKeyedMs: 0,
    async spendLast(account) {
      load.seen.set(account.id, noneSeen());
      const run = pick(running());
      if (run !== undefined) await ask(run, account, { ...screening(), isLast: true });
    },
    async drain(account) {
      const run = pick(running());
      const seen = load.seen.get(account.id)!;
      for (let priced = -1; priced < seen.priced; ) {
        priced = seen.priced;
        await ask(run, account, { path: '/companies?q=%20', credits: 1 });
      }
    },
    async stop() {
      ended = true;
      clearInterval(timer);
      await Promise.all(inFlight);
    },
  };

  const company = (among = options.companies) => generateCompany(Math.floor(random() * among));
  const screening = (): Question => ({
    path: '/debts',
    nifs: Array.from({ length: SCREENED }, () => company().nif),
    credits: SCREENED,
    idempotencyKey: crypto.randomUUID(),
  });
  const question = (): Question => {
    const { nif, name } = company();
    const query = name.slice(0, 4 + Math.floor(random() * 12));
    const draw = random();
    if (draw < 0.1) return { path: '/usage', credits: 0 };
    if (draw < 0.13) return { path: '/companies?q=%20', credits: 1 };
    if (draw < 0.16) return { path: '/companies/123', credits: 1 };
    // A company that no source knows.
    const unknown = generateCompany(options.companies + Math.floor(random() * 50)).nif;
    if (draw < 0.2) return { path: `/companies/${unknown}`, credits: 1 };
    if (draw < 0.24) {
      const nifs = Array.from({ length: BATCH }, () => company(BATCHED_COMPANIES).nif);
      nifs[0] = unknown;
      return { path: '/lookups', nifs, credits: BATCH, idempotencyKey: crypto.randomUUID() };
    }
    if (draw < 0.27) return screening();
    if (draw < 0.3) {
      const { idempotencyKey: _, ...unkeyed } = screening();
      return unkeyed;
    }
    const path = draw < 0.6 ? `/companies/${nif}` : `/companies?q=${encodeURIComponent(query)}`;
    return { path, credits: 1 };
  };

  const requestTimed = async (run: InstanceRun, key: string, question: Question): Promise<Outcome[]> => {
    const beganAtMs = performance.now();
    const { outcomes, charged } = await request(run, key, question);
    const priced = pricedOf(question, outcomes);
    // Of a keyed request another sending may be charged.
    if (question.idempotencyKey === undefined && charged !== priced)
      load.wrong.push(`X-Credits ${charged} to ${question.path}, of which ${priced} cost a credit`);
    const slowest = question.idempotencyKey === undefined ? 'slowestMs' : 'slowestKeyedMs';
    load[slowest] = Math.max(load[slowest], performance.now() - beganAtMs);
    return outcomes;
  };

  /**
   * Sends a request three times: twice at once, to two instances, and once more. It is charged as the dearest answer is.
   * @returns the outcomes of that one
   * @throws when a sending has no answer
   */
  const requestAgain = async ([run, other]: InstanceRun[], key: string, question: Question) => {
    const send = (to: InstanceRun) => requestTimed(to, key, question);
    const first = await Promise.all([send(run!), send(other!)]);
    const answers = [...first, await send(run!)];
    const priced = (outcomes: Outcome[]) => pricedOf(question, outcomes);
    const isTold = first.some(([outcome]) => outcome?.kind === 'monthly-quota-exceeded');
    if (question.isLast && isTold && first.some((outcomes) => priced(outcomes) > 0))
      load.wrong.push('that no credit is left, while another sending of the request was paid');
    return answers.reduce((dearest, outcomes) => (priced(outcomes) > priced(dearest) ? outcomes : dearest));
  };

  const ask = async (run: InstanceRun, account: KnownAccount, question: Question): Promise<void> => {
    const seen = load.seen.get(account.id)!;
    const beganAtMs = performance.now();
    // Whichever is asked first may charge a keyed request.
    const asked = question.idempotencyKey === undefined ? [run] : [run, pick(running())];
    let outcomes: Outcome[];
    try {
      outcomes = await (asked.length === 1
        ? requestTimed(run, account.key, question)
        : requestAgain(asked, account.key, question));
    } catch {
      seen.unseen += question.credits;
      count(load.answers, 'no answer');
      return;
    }
    const endedAtMs = performance.now();
    for (const { status, kind } of outcomes) {
      count(load.answers, `${question.nifs && outcomes.length > 1 ? 'item ' : ''}${status} ${kind}`.trim());
      if (status === 401 || kind === 'internal-error') load.wrong.push(`${status} ${question.path}`);
    }
    const priced = pricedOf(question, outcomes);
    seen.priced += priced;
    seen.refused += outcomes.length - priced;
    // A void is acknowledged before the next batch is charged.
    if (priced > 0) run.doubtful = run.doubtful.filter(({ answeredAtMs }) => answeredAtMs >= beganAtMs);
    const unavailable = outcomes.filter(({ status }) => status === 503).length;
    if (unavailable > 0) {
      const credits = outcomes.length === 1 ? question.credits : unavailable;
      for (const { doubtful } of new Set(asked))
        doubtful.push({ accountId: account.id, credits, answeredAtMs: endedAtMs });
    }
  };

  const timer = setInterval(() => {
    const due = ((performance.now() - startedAtMs) / 1000) * options.perSecond;
    for (; sent < due; sent += 1) {
      const { run } = pick(instances);
      const account = pick(accounts);
      const next = question();
      if (ended || run === null || inFlight.size >= MAX_IN_FLIGHT) continue;
      const asked = ask(run, account, next).finally(() => inFlight.delete(asked));
      inFlight.add(asked);
    }
  }, TICK_MS);
  return load;
}

/** @returns one outcome, or one for each item of a list that was answered 200, and `X-Credits` */
async function request(
  { service }: InstanceRun,
  key: string,
  { path, nifs, idempotencyKey }: Question,
): Promise<{ outcomes: Outcome[]; charged: number }> {
  const response = await fetch(`http://${service.host}:${service.port}/api/v1${path}`, {
    headers: {
      Authorization: `Bearer ${key}`,
      ...(nifs && { 'Content-Type': 'application/json' }),
      ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }),
    },
    ...(nifs && { method: 'POST', body: JSON.stringify({ nifs }) }),
    // A reused connection may break, and fetch would send the request a second time.
    keepalive: false,
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  });
  const body = (await response.json()) as Problem & { data?: { status: number; problem?: Problem }[] };
  const charged = Number(response.headers.get('X-Credits'));
  const isList = response.ok && nifs !== undefined;
  const items = isList ? body.data! : [{ status: response.status, problem: body }];
  const outcomes = items.map(({ status, problem }) => ({
    status,
    kind: status === 200 ? '' : (problem?.type?.split('/').at(-1) ?? 'no problem'),
  }));
  return { outcomes, charged };
}

type Problem = { type?: string };

const pricedOf = ({ credits }: Question, outcomes: Outcome[]): number =>
  credits === 0 ? 0 : outcomes.filter(isPriced).length;

function isPriced({ status, kind }: Outcome): boolean {
  return [200, 400, 404, 502].includes(status) || kind === 'search-failed';
}

export function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
