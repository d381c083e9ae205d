import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type Answer, ok, problem, unavailable } from '../../../src/http/answer.ts';
import type { Trace } from '../../../src/http/observe.ts';
import type { ProblemName } from '../../../src/http/problems.ts';
import type { FaceCall } from '../../../src/metering/admission/face.ts';
import {
  createPipeline,
  type Pipeline,
  type PipelineParts,
} from '../../../src/metering/admission/pipeline.ts';
import {
  type CallContext,
  free,
  type Payment,
  type Quote,
  single,
} from '../../../src/metering/admission/quote.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { refundOwed } from '../../../src/metering/credits/refund.ts';
import {
  type Authenticator,
  type Caller,
  createAuthenticator,
} from '../../../src/metering/keys/authenticate.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { errorsOf } from '../../../src/metering/notes/notes.ts';
import type { RateLimiter } from '../../../src/metering/rate-limit/bucket.ts';
import { createProcessRateLimiter } from '../../../src/metering/rate-limit/process.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { OverloadedError } from '../../../src/platform/runtime/timeout.ts';
import { createTestDatabase } from '../../support/database.ts';
import { CALLER } from '../../support/handler.ts';
import { startProxy } from '../../support/proxy.ts';
import { createCaller } from '../../support/service.ts';
import { inOneTurn, stopClock } from '../../support/stopped-clock.ts';
import { eventually, until } from '../../support/until.ts';
import { ledgerOf } from '../credits/ledger.ts';

let ledgerSql: Sql;
let authenticator: Authenticator;
let limiter: RateLimiter;
/** The accounts of the tokens that were taken. */
let taken: string[];
let pipeline: Pipeline;
let nowUs: number;
let logged: string[];
/** Error answers that the pipeline has counted, with the credits that they cost. */
let countedErrors: string[];

const database = await createTestDatabase('pipeline');
const sql = database.sql;
/** Postgres, for the pipeline's credits alone. */
const ledgerProxy = await startProxy(database.url);
beforeEach(async () => {
  ledgerProxy.up();
  nowUs = Date.UTC(2026, 10, 21) * 1000;
  logged = [];
  countedErrors = [];
  ledgerSql = connectPostgres(ledgerProxy.url(database.url), { max: 2 });
  authenticator = await createAuthenticator(sql);
  taken = [];
  const buckets = createProcessRateLimiter(() => nowUs);
  limiter = {
    async take(accountId, limit) {
      const decision = await buckets.take(accountId, limit);
      if (decision.taken) taken.push(accountId);
      return decision;
    },
  };
  pipeline = pipelineOf({});
});
afterEach(async () => {
  ledgerProxy.up();
  await Promise.all([ledgerSql.end({ timeout: 1 }), authenticator.close()]);
});
afterAll(async () => {
  await ledgerProxy.close();
  await database.drop();
});

/** The pipeline of the service, with some parts replaced. */
const pipelineOf = (parts: Partial<PipelineParts>): Pipeline =>
  createPipeline({
    authenticator,
    rateLimiter: limiter,
    credits: createCredits(ledgerSql),
    entryOf: () => undefined,
    notes: {
      answered({ keyId }, _trace, answer, paid) {
        for (const [kind, credits] of errorsOf(answer, paid))
          countedErrors.push(`${keyId} ${kind} ${credits}`);
      },
    },
    log: createLogTo({ write: (line) => void logged.push(line) }),
    buyUrl: null,
    ...parts,
  });

type Handle = (context: CallContext) => Promise<Answer>;
const fine: Handle = async () => ok({ fine: true });
/** For requests without a token. */
const neverQuotes = () => {
  throw new Error('the handler was asked');
};
/** For requests without a credit. */
const neverHandles: Handle = () => Promise.reject(new Error('the handler was asked'));

/** The outcome of one request, with the headers of either form of answer. */
async function send(
  key: string | null,
  quote: FaceCall['quote'],
  { right = null, charge = null, signal }: Partial<FaceCall> & { signal?: AbortSignal } = {},
) {
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  const request = new Request('http://service/', { headers, ...(signal !== undefined && { signal }) });
  const trace: Trace = {};
  const answer = await pipeline.serve(request, trace, { right, charge, quote });
  const { headers: sent = {} } = answer.ok ? answer : answer.problem;
  const refused = answer.ok ? { kind: null, members: undefined, detail: undefined } : answer.problem;
  const { kind, members, detail } = refused;
  return { kind, headers: sent, members, detail, account: trace.account, cost: trace.credits };
}

interface Asked {
  charge?: FaceCall['charge'];
  begin?: () => unknown;
}

async function ask(
  key: string | null,
  handle: Handle = fine,
  { charge = 'search', begin = () => {} }: Asked = {},
) {
  const quote = (context: CallContext): Quote => {
    begin();
    const answer = () => handle(context);
    return charge === null ? free(answer) : { ...single(charge, answer), isSearch: charge === 'search' };
  };
  const { cost: _, detail: __, ...outcome } = await send(key, quote, { charge });
  return outcome;
}

const tokensOf = (accountId: string) => taken.filter((one) => one === accountId).length;

/** The cost of an account's requests: their tokens, and their credits in the ledger. */
async function costs(accountId: string) {
  const { used, credits } = await ledgerOf(sql, accountId);
  return { tokens: tokensOf(accountId), used, credits };
}

describe('a request whose quote waits for its body', () => {
  type QuoteOf = (context: CallContext) => Promise<Quote>;
  const serve = async (key: string, quote: QuoteOf, more: Parameters<typeof send>[2] = {}) =>
    (await send(key, quote, more)).kind;
  /** The client leaves before its request is quoted. */
  const serveLeaving = (key: string, quote: QuoteOf) => {
    const client = new AbortController();
    const leave: QuoteOf = (context) => {
      client.abort();
      return quote(context);
    };
    return serve(key, leave, { signal: client.signal });
  };
  const fault = () => {
    throw new Error('no');
  };
  const costing =
    (
      credits: number,
      answer: (payment: Payment) => Answer = () => ok({}),
      { identity, ...more }: Partial<Quote> & { identity?: string } = {},
    ): QuoteOf =>
    async (context) => {
      if (identity !== undefined) await context.claim(identity);
      return { kind: 'lookup', credits, answer, ...more };
    };

  test('ends its quote once, whether it is answered, refused or a fault', async () => {
    const { key } = await createCaller(sql, { included: 2 });
    const ended: string[] = [];
    const end = (name: string) => ({ end: () => void ended.push(name) });
    expect(await serve(key, costing(1, undefined, end('answered')))).toBeNull();
    expect(await serve(key, costing(1, fault, end('a fault')))).toBe('internal-error');
    expect(await serve(key, costing(1, fault, end('refused')))).toBe('monthly-quota-exceeded');
    expect(ended).toEqual(['answered', 'a fault', 'refused']);
  });

  test('says what it has cost: its credits less those refunded, also of a fault, and nothing of a repetition', async () => {
    const { key, accountId } = await createCaller(sql, { included: 100 });
    const someBack = ({ refund }: Payment) => {
      refund(2);
      return ok({});
    };
    const told = async (quote: QuoteOf) => {
      const { headers, cost } = await send(key, quote);
      return [headers['X-Credits'], cost];
    };
    expect(await told(costing(10))).toEqual(['10', 10]);
    expect(await told(costing(10, someBack))).toEqual(['8', 8]);
    expect(await told(costing(10, () => unavailable('away')))).toEqual(['0', 0]);
    expect(await told(costing(3, fault))).toEqual(['3', 3]);
    const identity = `once ${accountId}`;
    expect(await told(costing(4, undefined, { identity }))).toEqual(['4', 4]);
    expect(await told(costing(4, someBack, { identity }))).toEqual(['0', 0]);
    expect(await told(async () => free(() => unavailable('away')))).toEqual(['0', 0]);
    const refunded = async () => {
      await refundOwed(sql);
      return ledgerOf(sql, accountId);
    };
    // Of a repetition nothing is refunded.
    await eventually(refunded, { used: 25, credits: 0, calls: 25 });
  });

  test('costs no credit when it fails before, when the client has left, or when credits can not be counted', async () => {
    const { accountId, key } = await createCaller(sql);
    expect(await serve(key, async () => free(() => unavailable('away')))).toBe('service-unavailable');
    expect(await serveLeaving(key, costing(5))).toBe('service-unavailable');
    ledgerProxy.down();
    expect(await serve(key, costing(5))).toBe('service-unavailable');
    ledgerProxy.up();
    expect(await costs(accountId)).toEqual({ tokens: 3, used: 0, credits: 0 });
  });

  test('is charged for reads that are done when the client has left', async () => {
    const { accountId, key } = await createCaller(sql);
    expect(await serveLeaving(key, costing(5, undefined, { isDue: true }))).toBeNull();
    expect(await costs(accountId)).toEqual({ tokens: 1, used: 5, credits: 0 });
  });

  test.each<[string, ProblemName, (caller: Caller) => Caller | null]>([
    ['its key has ended', 'unauthorized', () => null],
    ['its key has lost the right', 'not-permitted', (caller) => ({ ...caller, only: [] })],
  ])(
    'and that has waited for another sending while %s, reads nothing and costs a token',
    async (_, kind, meanwhile) => {
      const { accountId, key } = await createCaller(sql);
      const caller = (await authenticator.authenticate(key, {}, true))!;
      const callers = [caller, meanwhile(caller)];
      const released: unknown[] = [];
      pipeline = pipelineOf({
        authenticator: { ...authenticator, authenticate: async () => callers.shift()! },
        credits: { ...createCredits(ledgerSql), release: ({ request }) => void released.push(request) },
      });
      const quote: QuoteOf = (context) => context.claim(accountId).then(neverQuotes);
      expect(await serve(key, quote, { right: 'lookup', charge: 'lookup' })).toBe(kind);
      expect(released).toHaveLength(1);
      expect(await costs(accountId)).toEqual({ tokens: 1, used: 0, credits: 0 });
    },
  );

  test('and that reads its body slowly is no queue: 2,000 of them refuse nobody', async () => {
    const slow = await createCaller(sql, { limits: { requestsPerMinute: 10_000 } });
    const { key } = await createCaller(sql);
    const gate = Promise.withResolvers<Quote>();
    const reading = Promise.withResolvers<void>();
    let read = 0;
    const { answers } = await inOneTurn(async () => {
      const answers = Array.from({ length: 2000 }, () =>
        serve(slow.key, () => {
          read += 1;
          if (read === 900) reading.resolve();
          return gate.promise;
        }),
      );
      await reading.promise;
      return { answers };
    });
    expect((await ask(key)).kind).toBeNull();
    gate.resolve(free(() => unavailable('stopping')));
    await Promise.all(answers);
  });

  test('is one request in the queue: after a stall of 3 s one of 100 credits is answered at once', async () => {
    const { accountId, key } = await createCaller(sql);
    const gate = Promise.withResolvers<void>();
    const spending = Promise.withResolvers<void>();
    const credits = createCredits(ledgerSql);
    pipeline = pipelineOf({
      credits: {
        ...credits,
        async charge(call) {
          spending.resolve();
          await gate.promise;
          return credits.charge(call);
        },
      },
    });
    const clock = stopClock();
    try {
      const stalled = serve(key, costing(100));
      await spending.promise;
      for (let quarter = 0; quarter < 12; quarter += 1) {
        clock.pass(250);
        await ask(key, fine, { charge: null });
      }
      gate.resolve();
      expect(await stalled).toBeNull();
      expect(await serve(key, costing(100))).toBeNull();
    } finally {
      clock.restore();
    }
    expect(await costs(accountId)).toEqual({ tokens: 14, used: 200, credits: 0 });
  });
});

describe('what a request costs', () => {
  test('a handler quotes once the request has its token, and answers once its credit is charged', async () => {
    const { accountId, key } = await createCaller(sql, { included: 1 });
    const steps: unknown[] = [];
    const handle: Handle = async () => {
      steps.push('answer', await costs(accountId));
      return ok({});
    };
    const begin = () => steps.push('quote', tokensOf(accountId));
    await ask(key, handle, { begin });
    await ask(key, handle, { begin });
    expect(steps).toEqual(['quote', 1, 'answer', { tokens: 1, used: 1, credits: 0 }, 'quote', 2]);
  });

  test('a quote that fails: an internal error that tells nothing, and no credit', async () => {
    const { accountId, key } = await createCaller(sql);
    const answer = await send(key, () => {
      throw new Error('secret detail');
    });
    const reset = String(nowUs / 1_000_000);
    expect(answer).toMatchObject({ kind: 'internal-error', detail: undefined });
    expect(answer.headers).toEqual({
      ...{ 'X-Credits': '0', 'RateLimit-Limit': '20', 'RateLimit-Remaining': '19' },
      ...{ 'RateLimit-Reset': reset, 'RateLimit-Policy': '20;w=60' },
    });
    expect(await costs(accountId)).toEqual({ tokens: 1, used: 0, credits: 0 });
  });
});

test('a key that can not be looked up because too many are is 503, not 500', async () => {
  const overload = () => Promise.reject(new OverloadedError('the queue for Postgres is full'));
  pipeline = pipelineOf({ authenticator: { ...authenticator, authenticate: overload } });
  const unanswered = { kind: 'service-unavailable', headers: { 'Retry-After': '1' } } as const;
  expect(await ask(generateSecret(), neverHandles)).toMatchObject(unanswered);
});

test('searches that fail are done as well, and leave no queue behind them', async () => {
  const { key } = await createCaller(sql, { limits: { requestsPerMinute: 10_000 }, included: 2000 });
  for (let crowd = 0; crowd < 8; crowd += 1) {
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => ask(key, neverHandles)));
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['internal-error']));
  }
  expect(await ask(key)).toMatchObject({ kind: null });
});

test('a queue of searches refuses searches, also one that was quoted meanwhile, but none whose reads are done, and no lookup', async () => {
  const { key } = await createCaller(sql, { limits: { requestsPerMinute: 10_000 }, included: 2000 });
  const quoting = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<Answer>();
  const clock = stopClock();
  try {
    const quoted = [false, true].map((isDue) => {
      const quote = { kind: 'search', credits: 1, isDue, answer: () => ok({}) } as const;
      return send(key, () => quoting.promise.then(() => quote), { charge: 'search' });
    });
    let searching = 0;
    const search: Handle = () => {
      searching += 1;
      return gate.promise;
    };
    const crowd: Promise<unknown>[] = [];
    // In turns that are no queue for admission.
    while (crowd.length < 1400) {
      crowd.push(...Array.from({ length: 200 }, () => ask(key, search)));
      await until('the searches', () => searching === crowd.length);
    }
    quoting.resolve();
    const kinds = (await Promise.all(quoted)).map(({ kind }) => kind);
    expect(kinds).toEqual(['service-unavailable', null]);
    expect((await ask(key)).kind).toBe('service-unavailable');
    expect((await ask(key, fine, { charge: 'lookup' })).kind).toBeNull();
    gate.resolve(ok({}));
    await Promise.all(crowd);
    expect((await ask(key)).kind).toBeNull();
  } finally {
    clock.restore();
  }
});

test('an overloaded service refuses every request with a key and the dashboard, at no cost; without a key it is a 401', async () => {
  const { accountId, key } = await createCaller(sql, { limits: { requestsPerMinute: 2000 }, included: 2000 });
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
  let waiting = 0;
  pipeline = pipelineOf({
    rateLimiter: {
      async take(...asked) {
        waiting += 1;
        await gate;
        return limiter.take(...asked);
      },
    },
  });
  let refused = 0;
  const crowd: Promise<void>[] = [];
  const join = async () => {
    const { kind } = await ask(key);
    if (kind === 'service-unavailable') refused += 1;
  };
  while (crowd.length < 1400) {
    crowd.push(join());
    // In turns that are no crowd themselves, so that the queue alone refuses, also on a slow machine.
    if (crowd.length % 200 === 0) await new Promise(setImmediate);
  }
  await until('everybody waits for a token or is refused', () => waiting + refused === 1400);

  const askMore = (key: string | null) => ask(key, neverHandles, { begin: neverQuotes });
  const none = { members: undefined, account: undefined };
  for (const wrong of [null, 'svc_garbage'])
    expect(await askMore(wrong)).toMatchObject({ kind: 'unauthorized', account: undefined });
  // Whether the key exists isn't asked.
  for (const any of [generateSecret(), key])
    expect(await askMore(any)).toEqual({
      ...{ ...none, kind: 'service-unavailable', headers: { 'Retry-After': '1' } },
    });
  // A call made in the dashboard: its caller is known already.
  const caller = { ...CALLER, accountId, keyId: '' };
  const handler = { right: null, charge: 'search' as const, quote: neverQuotes };
  expect(await pipeline.serve(new Request('http://service/'), {}, handler, caller)).toMatchObject({
    problem: { kind: 'service-unavailable' },
  });
  // However slow Postgres is, none queues for too long.
  await inOneTurn(() => {
    openGate();
    return Promise.all(crowd);
  });
  expect(tokensOf(accountId)).toBe(waiting);
  expect((await ledgerOf(sql, accountId)).used).toBe(waiting);
});

test('a request with a test key takes a token, has all its credits for nothing, and counts no error', async () => {
  const { accountId } = await createCaller(sql, { included: 0 });
  const caller = { ...CALLER, accountId, keyId: '', isTest: true };
  const answerOf = ({ spent }: Payment) => problem('internal-error', `${spent}`);
  const quote = () => ({ kind: 'lookup', credits: 7, answer: answerOf }) as const;
  const failing: FaceCall = { right: null, charge: 'lookup', quote };
  const trace: Trace = {};
  const answer = await pipeline.serve(new Request('http://service/'), trace, failing, caller);
  expect(answer).toMatchObject({ problem: { kind: 'internal-error', detail: '7' } });
  expect([trace.isTest, countedErrors, (await ledgerOf(sql, accountId)).used]).toEqual([true, [], 0]);
  expect(tokensOf(accountId)).toBe(1);
});

describe('a bug is an internal error with one stack in the log, not an outage', () => {
  const bug = () => Promise.reject(new TypeError("undefined is not an object (evaluating 'row.at')"));
  test.each<[string, () => Partial<PipelineParts>, number]>([
    ['the ledger', () => ({ credits: { claim: bug, release() {}, charge: bug, left: bug, close: bug } }), 1],
    ['the look-up of keys', () => ({ authenticator: { authenticate: bug, close: bug } }), 0],
    ['the rate limiter', () => ({ rateLimiter: { take: bug } }), 0],
  ])('in %s', async (_, parts, tokens) => {
    const { accountId, key } = await createCaller(sql);
    pipeline = pipelineOf(parts());
    for (let request = 0; request < 3; request += 1) {
      expect(await ask(key, neverHandles)).toMatchObject({ kind: 'internal-error' });
    }
    const err = { type: 'TypeError', stack: expect.arrayContaining([expect.any(String)]) };
    const lines = logged.map((line) => JSON.parse(line));
    expect(lines).toMatchObject([{ msg: 'a request could not be answered', err }]);
    expect(await costs(accountId)).toEqual({ tokens: 3 * tokens, used: 0, credits: 0 });
  });
});

test('each error answer to a known caller is counted once by its key, with its cost, and a 401 and a success are not', async () => {
  const { key, keyId } = await createCaller(sql, { included: 4, limits: { requestsPerMinute: 6 } });
  await ask(key);
  await ask(key, async () => problem('validation'));
  await ask(key, () => Promise.reject(new Error('no')));
  await ask(key, async () => unavailable('later'));
  await sql`UPDATE balances SET used = 4`;
  await ask(key);
  await ask(key, () => Promise.reject(new Error('no')), { charge: null });
  await ask(key);
  await ask(null);
  await ask(generateSecret());
  expect(countedErrors).toEqual([
    `${keyId} validation 1`,
    `${keyId} internal-error 1`,
    `${keyId} service-unavailable 0`,
    `${keyId} monthly-quota-exceeded 0`,
    `${keyId} internal-error 0`,
    `${keyId} rate-limit-exceeded 0`,
  ]);
});

test('of a batch lookup each item with a problem is counted, and costs a credit unless it is a 429 or 503', async () => {
  const { key, keyId } = await createCaller(sql);
  const costs: Partial<Record<ProblemName, number>> = {
    ...{ validation: 1, 'company-lookup-failed': 1, 'monthly-quota-exceeded': 0, 'service-unavailable': 0 },
  };
  const itemProblems = Object.keys(costs).map((kind) => ({ kind: kind as ProblemName }));
  await ask(key, async () => ({ ok: true, json: '{}', itemProblems }));
  expect(countedErrors).toEqual(Object.entries(costs).map(([kind, cost]) => `${keyId} ${kind} ${cost}`));
});
