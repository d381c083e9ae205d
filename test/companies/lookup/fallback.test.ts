import { afterAll, expect, test } from 'bun:test';
import { startApi } from '../../support/api.ts';
import { ask, keepSecret } from '../../support/ask.ts';
import { nif } from '../../support/companies.ts';
import { readMetrics } from '../../support/metrics.ts';
import {
  einformaReport,
  nifPtError,
  nifPtFound,
  nifPtLimit,
  nifPtNotFound,
  type Provider,
  startProvider,
  viesFound,
  viesInvalid,
} from '../../support/provider.ts';

const NIF_PT_KEY = 'nif-pt-key-of-the-test';
const CLIENT_SECRET = 'client-secret-of-the-test';
keepSecret(NIF_PT_KEY, CLIENT_SECRET, 'SECRET-OF-THE-PROVIDER', 'Do Registo', 'REGISTO LDA');

/** A service whose primary provider is `api.provider` and whose registry is another one. */
async function startWithRegistry(registry: 'vies' | 'einforma') {
  const fallback = await startProvider();
  const api = await startApi({
    env: {
      REGISTRY: registry,
      NIF_PT_KEY,
      VIES_URL: `${fallback.url}/vies/rest-api`,
      EINFORMA_URL: `${fallback.url}/api/v1`,
      EINFORMA_CLIENT_ID: 'client',
      EINFORMA_CLIENT_SECRET: CLIENT_SECRET,
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

/** Requests about one company. A stopped service of another file can still ask a port that was its source's. */
const askedAbout = ({ requests }: Provider, number: string) => requests.filter(({ nif }) => nif === number);

const vies = await startWithRegistry('vies');
afterAll(() => vies.stop());

// sources-faults.test.ts has all faults.
test('after a fault of nif.pt VIES is asked; after one of both it is a 502 that tells nothing of them', async () => {
  const { api, fallback, fresh, look } = vies;
  const number = fresh();
  fallback.answer(number, viesFound(number, { name: 'REGISTO LDA' }));
  await api.provider.mode('reset');
  // The second one is of the record that the first one has stored.
  for (const of of [number, number]) {
    const { status, headers, body } = await look(of);
    expect([status, headers.get('X-Record-Source'), body.data.title]).toEqual([200, 'vies', 'REGISTO LDA']);
  }
  await Promise.all([api.provider.mode('html'), fallback.mode('html')]);
  const failed = await look(fresh());
  await Promise.all([api.provider.mode('normal'), fallback.mode('normal')]);
  expect([failed.status, failed.kind]).toEqual([502, 'company-lookup-failed']);
  expect(JSON.stringify(failed.body)).not.toMatch(/SECRET|nif\.pt|vies|127\.0\.0\.1:\d+\/(?!problems)/);
});

test('nif.pt is asked first, and what it knows is definite: "no records found" is a 404, and VIES is not asked', async () => {
  const { api, fallback, fresh, look } = vies;
  const [known, unknown] = [fresh(), fresh()];
  api.provider.answer(known, nifPtFound(known));
  api.provider.answer(unknown, nifPtNotFound());
  fallback.answer(unknown, viesFound(unknown));
  expect((await look(known)).headers.get('X-Record-Source')).toBe('nif.pt');
  expect((await look(unknown)).kind).toBe('company-not-found');
  expect([known, unknown].flatMap((number) => askedAbout(fallback, number))).toEqual([]);
});

test('a fault of nif.pt and "invalid" of VIES is a 502, never a 404', async () => {
  const { api, fallback, fresh, look } = vies;
  const number = fresh();
  api.provider.answer(number, nifPtError('Something new'));
  fallback.answer(number, viesInvalid(number));
  const { status, kind } = await look(number);
  expect([status, kind]).toEqual([502, 'company-lookup-failed']);
});

test('after a limit answer nif.pt is not asked for a while', async () => {
  const { api, fallback, fresh, look } = vies;
  const [first, second] = [fresh(), fresh()];
  api.provider.answer(first, nifPtLimit('minute'));
  for (const number of [first, second]) fallback.answer(number, viesFound(number));
  for (const number of [first, second]) {
    expect((await look(number)).headers.get('X-Record-Source')).toBe('vies');
  }
  expect([first, second].map((number) => askedAbout(api.provider, number).length)).toEqual([1, 0]);
  // The operator is told in the log and by a metric.
  const told = api.logLines.filter(({ msg }) => msg === 'a source has reached its limit');
  expect(told).toEqual([expect.objectContaining({ level: 40, source: 'nif.pt', window: 'minute' })]);
  expect(api.logLines.filter(({ reason }) => reason === 'skipped')).toEqual([]);
  expect(await readMetrics(api)).toMatchObject({
    'source_limits_total{source="nif.pt",window="minute"}': 1,
  });
});

test('eInforma as the registry answers where nif.pt fails, with its own "not found" as a 404', async () => {
  const { api, fallback, fresh, look, stop } = await startWithRegistry('einforma');
  const number = fresh();
  await api.provider.mode({ status: 500 });
  fallback.answer(number, einformaReport(number, { denominacion: 'Do Registo, SA' }));
  const { status, headers, body } = await look(number);
  expect([status, headers.get('X-Record-Source'), body.data.title]).toEqual([
    200,
    'einforma',
    'Do Registo, SA',
  ]);
  expect((await look(fresh())).kind).toBe('company-not-found');
  await stop();
});

test('without a nif.pt key and a registry a lookup is 502 at once', async () => {
  const api = await startApi({ env: { NIF_PT_URL: '', REGISTRY: 'none' } });
  const { key } = await api.caller();
  const value = await ask(api, `/companies/${nif(1)}`, { key });
  expect([value.status, value.kind]).toEqual([502, 'company-lookup-failed']);
  await api.stop();
});
