import { generateCompany, seededRandom } from '../names.ts';
import type { KnownAccount } from './accounts.ts';
import type { Instance, InstanceRun } from './fleet.ts';

/** Requests of one account, by what the caller got. */
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
  /** Answers by status and kind of problem: `500 search-failed`. */
  answers: Map<string, number>;
  /** Answers that the service must never give here: 401, internal-error. */
  wrong: string[];
  slowestMs: number;
  /** Ends the load and waits for the last answer. */
  stop(): Promise<void>;
}

/** The caller gives up after this: far beyond every timeout of the service. */
const ANSWER_TIMEOUT_MS = 30_000;
/** No request is sent while so many are in flight. */
const MAX_IN_FLIGHT = 400;
const TICK_MS = 20;

/** Sends requests at a fixed rate to the instances that run, until `stop`. */
export function startLoad(
  instances: Instance[],
  accounts: KnownAccount[],
  options: { perSecond: number; companies: number; seed: number },
): Load {
  const random = seededRandom(options.seed);
  const pick = <T>(list: T[]) => list[Math.floor(random() * list.length)]!;
  const inFlight = new Set<Promise<void>>();
  const startedAtMs = performance.now();
  let sent = 0;
  let ended = false;
  const load: Load = {
    seen: new Map(accounts.map(({ id }) => [id, { priced: 0, refused: 0, unseen: 0, doubtful: 0 }])),
    answers: new Map(),
    wrong: [],
    slowestMs: 0,
    async stop() {
      ended = true;
      clearInterval(timer);
      await Promise.all(inFlight);
    },
  };

  const path = (): string => {
    const { nif, name } = generateCompany(Math.floor(random() * options.companies));
    const draw = random();
    if (draw < 0.1) return '/usage';
    if (draw < 0.13) return '/companies?q=%20';
    if (draw < 0.16) return '/companies/123';
    // A company that no source knows.
    if (draw < 0.2) return `/companies/${generateCompany(options.companies + Math.floor(random() * 50)).nif}`;
    if (draw < 0.6) return `/companies/${nif}`;
    return `/companies?q=${encodeURIComponent(name.slice(0, 4 + Math.floor(random() * 12)))}`;
  };

  const ask = async (run: InstanceRun, account: KnownAccount, path: string): Promise<void> => {
    const seen = load.seen.get(account.id)!;
    const beganAtMs = performance.now();
    let answer: Answer;
    try {
      answer = await request(run, account.key, path);
    } catch {
      seen.unseen += path === '/usage' ? 0 : 1;
      count(load.answers, 'no answer');
      return;
    }
    const endedAtMs = performance.now();
    load.slowestMs = Math.max(load.slowestMs, endedAtMs - beganAtMs);
    count(load.answers, `${answer.status} ${answer.kind}`.trim());
    if (answer.status === 401 || answer.kind === 'internal-error')
      load.wrong.push(`${answer.status} ${path}`);
    if (path !== '/usage' && isPriced(answer)) {
      seen.priced += 1;
      run.doubtful = run.doubtful.filter(({ answeredAtMs }) => answeredAtMs >= beganAtMs);
    } else {
      seen.refused += 1;
      if (answer.status === 503) run.doubtful.push({ accountId: account.id, answeredAtMs: endedAtMs });
    }
  };

  const timer = setInterval(() => {
    const due = ((performance.now() - startedAtMs) / 1000) * options.perSecond;
    for (; sent < due; sent += 1) {
      const { run } = pick(instances);
      const account = pick(accounts);
      const to = path();
      if (ended || run === null || inFlight.size >= MAX_IN_FLIGHT) continue;
      const asked = ask(run, account, to).finally(() => inFlight.delete(asked));
      inFlight.add(asked);
    }
  }, TICK_MS);
  return load;
}

interface Answer {
  status: number;
  /** The end of the problem's type, or '' for a success. */
  kind: string;
}

async function request({ service }: InstanceRun, key: string, path: string): Promise<Answer> {
  const response = await fetch(`http://${service.host}:${service.port}/api/v1${path}`, {
    headers: { Authorization: `Bearer ${key}` },
    // A reused connection may break, and fetch would send the request a second time.
    keepalive: false,
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  });
  const body = (await response.json()) as { type?: string };
  return { status: response.status, kind: response.ok ? '' : (body.type?.split('/').at(-1) ?? 'no problem') };
}

function isPriced({ status, kind }: Answer): boolean {
  return [200, 400, 404, 502].includes(status) || kind === 'search-failed';
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
