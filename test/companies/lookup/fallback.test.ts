import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Api, type ApiOptions, startApi } from '../../support/api.ts';
import { ask, keepSecret } from '../../support/ask.ts';
import { nif } from '../../support/companies.ts';
import {
  einformaReport,
  nifPtError,
  nifPtFound,
  nifPtLimit,
  nifPtNotFound,
  type Provider,
  type ProviderMode,
  startProvider,
  viesError,
  viesFound,
  viesInvalid,
} from '../../support/provider.ts';

const NIF_PT_KEY = 'nif-pt-key-of-the-test';
const CLIENT_SECRET = 'client-secret-of-the-test';
keepSecret(NIF_PT_KEY, CLIENT_SECRET, 'SECRET-OF-THE-PROVIDER', 'Do Registo', 'REGISTO LDA');

const TIMEOUT_MS = 300;

/** A service whose primary provider is `api.provider` and whose registry is another one. */
async function startWithRegistry(registry: 'vies' | 'einforma', options: ApiOptions = {}) {
  const fallback = await startProvider();
  const api = await startApi({
    env: {
      REGISTRY: registry,
      NIF_PT_KEY,
      VIES_URL: `${fallback.url}/vies/rest-api`,
      EINFORMA_URL: `${fallback.url}/api/v1`,
      EINFORMA_CLIENT_ID: 'client',
      EINFORMA_CLIENT_SECRET: CLIENT_SECRET,
      PROVIDER_TIMEOUT_MS: String(TIMEOUT_MS),
      ...options.env,
    },
  });
  const caller = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
  let number = 200;
  return {
    api,
    fallback,
    /** A NIF that nobody has asked for. */
    fresh: () => nif(number++),
    look: (of: string) => ask(api, `/companies/${of}`, { key: caller.key }),
    async stop() {
      await api.stop();
      await fallback.close();
    },
  };
}

/** Some of the faults (sources/faults.test.ts has all). */
const FAULTS: ProviderMode[] = ['hung', 'html', { status: 500 }];
const nameOf = (fault: ProviderMode) => (typeof fault === 'string' ? fault : `status ${fault.status}`);

describe('every fault of nif.pt moves on to VIES', () => {
  let service: Awaited<ReturnType<typeof startWithRegistry>>;
  beforeAll(async () => {
    service = await startWithRegistry('vies');
  });
  afterAll(() => service.stop());

  test.each(FAULTS.map((fault) => [nameOf(fault), fault] as const))('%s', async (_name, fault) => {
    const { api, fallback, fresh, look } = service;
    // An answer in between closes the breaker's count.
    await api.provider.mode('normal');
    expect((await look(fresh())).status).toBe(404);
    const number = fresh();
    fallback.answer(number, viesFound(number, { name: 'REGISTO LDA' }));
    await api.provider.mode(fault);
    const value = await look(number);
    expect([value.status, value.body.data?.title]).toEqual([200, 'REGISTO LDA']);
    expect(value.headers.get('X-Record-Source')).toBe('vies');
    expect(value.body.data).toMatchObject({
      address: 'CALÇADA DO DUQUE, 20',
      zipcode: '1249-109',
      city: 'LISBOA',
      structure: { nature: '', capital: '0', capital_currency: 'EUR' },
    });
    // It is stored as any other, and nothing tells the consumer or the log what the provider sent.
    await api.provider.mode('normal');
    expect((await look(number)).headers.get('X-Record-Source')).toBe('vies');
    await fallback.mode(fault);
    await api.provider.mode(fault);
    const failed = await look(fresh());
    await fallback.mode('normal');
    expect([failed.status, failed.kind]).toEqual([502, 'company-lookup-failed']);
    expect(JSON.stringify(failed.body)).not.toMatch(/SECRET|nif\.pt|vies|127\.0\.0\.1:\d+\/(?!problems)/);
  });
});

/** Requests about one company. A stopped service of another file can still ask a port that was its source's. */
const askedAbout = ({ requests }: Provider, number: string) => requests.filter(({ nif }) => nif === number);

describe('nif.pt and VIES', () => {
  let service: Awaited<ReturnType<typeof startWithRegistry>>;
  beforeAll(async () => {
    service = await startWithRegistry('vies');
  });
  afterAll(() => service.stop());

  test('nif.pt is asked first, with its key; where it knows the company nobody else is asked', async () => {
    const { api, fallback, fresh, look } = service;
    const number = fresh();
    api.provider.answer(number, nifPtFound(number));
    expect((await look(number)).headers.get('X-Record-Source')).toBe('nif.pt');
    expect(api.provider.lookups().at(-1)!.url.search).toBe(`?json=1&q=${number}&key=${NIF_PT_KEY}`);
    expect(askedAbout(fallback, number)).toEqual([]);
  });

  test('"no records found" is definite: 404, and VIES is not asked', async () => {
    const { api, fallback, fresh, look } = service;
    const number = fresh();
    api.provider.answer(number, nifPtNotFound());
    fallback.answer(number, viesFound(number));
    expect((await look(number)).kind).toBe('company-not-found');
    expect(askedAbout(fallback, number)).toEqual([]);
  });

  test('a fault of nif.pt and "invalid" of VIES is a 502, never a 404', async () => {
    const { api, fallback, fresh, look } = service;
    for (const answer of [
      viesInvalid,
      () => viesError('MS_MAX_CONCURRENT_REQ'),
      (of: string) => viesFound(of, { userError: 'MS_UNAVAILABLE' }),
    ]) {
      const number = fresh();
      api.provider.answer(number, nifPtError('Something new'));
      fallback.answer(number, answer(number));
      const { status, kind } = await look(number);
      expect([status, kind]).toEqual([502, 'company-lookup-failed']);
    }
  });

  test('after a limit answer nif.pt is not asked for the window that it names', async () => {
    const { api, fallback, fresh, look } = service;
    const [first, second] = [fresh(), fresh()];
    api.provider.answer(first, nifPtLimit('minute'));
    for (const number of [first, second]) fallback.answer(number, viesFound(number));
    const before = api.provider.lookups().length;
    for (const number of [first, second]) {
      expect((await look(number)).headers.get('X-Record-Source')).toBe('vies');
    }
    expect(api.provider.lookups()).toHaveLength(before + 1);
    // The operator is told in the log and by a metric.
    const told = api.logLines.filter(({ msg }) => msg === 'a source has reached its limit');
    expect(told).toEqual([expect.objectContaining({ level: 40, source: 'nif.pt', window: 'minute' })]);
    expect(api.logLines.filter(({ reason }) => reason === 'skipped')).toEqual([]);
    const metrics = await (await fetch(`${api.baseUrl}/metrics`)).text();
    expect(metrics).toContain('\nsource_limits_total{source="nif.pt",window="minute"} 1\n');
  });
});

describe('eInforma as the registry', () => {
  let service: Awaited<ReturnType<typeof startWithRegistry>>;
  beforeAll(async () => {
    service = await startWithRegistry('einforma');
  });
  afterAll(() => service.stop());

  test('answers where nif.pt fails, with its own "not found" as a 404', async () => {
    const { api, fallback, fresh, look } = service;
    const number = fresh();
    await api.provider.mode({ status: 500 });
    fallback.answer(number, einformaReport(number, { denominacion: 'Do Registo, SA' }));
    const { status, headers, body } = await look(number);
    expect([status, headers.get('X-Record-Source'), body.data.title]).toEqual([
      200,
      'einforma',
      'Do Registo, SA',
    ]);
    expect(body.data.structure).toMatchObject({ capital: '5000', nature: 'Sociedade por quotas' });
    expect((await look(fresh())).kind).toBe('company-not-found');
  });
});

test('without a nif.pt key and a registry a lookup is 502 at once', async () => {
  const api: Api = await startApi({ env: { NIF_PT_URL: '', REGISTRY: 'none' } });
  const { key } = await api.caller();
  const value = await ask(api, `/companies/${nif(1)}`, { key });
  expect([value.status, value.kind]).toEqual([502, 'company-lookup-failed']);
  await api.stop();
});
