/**
 * Starts and stops the service. `app.ts` has all routes, `listen.ts` the socket, `probes.ts` the readiness.
 * A start goes from the configuration to the socket; a stop goes the same way back, within a bound.
 */

import { observeAges } from '../companies/datasets/age-metrics.ts';
import { createDatasetsReader } from '../companies/datasets/datasets-store.ts';
import { purgeChanges } from '../companies/debts/changes/changes-purge.ts';
import { type PageOptions, readPage } from '../companies/debts/changes/changes-store.ts';
import { createScreen } from '../companies/debts/debts-store.ts';
import { watchDirectory } from '../companies/directory/watch.ts';
import { openLookup } from '../companies/lookup/open-lookup.ts';
import { openMatch } from '../companies/matches/matches.ts';
import { openResolve } from '../companies/resolve/resolve-open.ts';
import { openDirectory } from '../companies/search/open-search.ts';
import { createDashboard } from '../dashboard/dashboard.ts';
import { problem } from '../http/answer.ts';
import { startPurge } from '../http/feed.ts';
import { createObserver } from '../http/observe.ts';
import { createOpenApi } from '../http/openapi.ts';
import { createAccountReader } from '../metering/accounts/reader.ts';
import { purgeActivity, type ReadActivity, readActivity } from '../metering/activity/activity-store.ts';
import { createItemCounter } from '../metering/admission/list-handler.ts';
import { createPipeline } from '../metering/admission/pipeline.ts';
import { NOTHING_PAID } from '../metering/admission/quote.ts';
import { entryOf } from '../metering/credits/activity.ts';
import type { Call } from '../metering/credits/call.ts';
import { createCredits } from '../metering/credits/charge.ts';
import { startCallRollup } from '../metering/credits/rollup.ts';
import { createAuthenticator } from '../metering/keys/authenticate.ts';
import { createNotes } from '../metering/notes/notes.ts';
import { openRateLimiter } from '../metering/rate-limit/open-rate-limiter.ts';
import { createKeyReader } from '../metering/usage/key-route.ts';
import { type Config, defaultPublicUrl } from '../platform/config/config.ts';
import { createLog, type Log, type LogTarget } from '../platform/observability/log.ts';
import { createMetrics } from '../platform/observability/metrics.ts';
import {
  CLOSE_TIMEOUT_MS,
  type Cleanup,
  createCleanup,
  DRAIN_TIMEOUT_MS,
  LONGEST_STOP_MS,
} from '../platform/runtime/shutdown.ts';
import { withTimeout } from '../platform/runtime/timeout.ts';
import { openStores } from '../platform/stores/stores.ts';
import { observeRuns } from '../platform/terminal/runs.ts';
import { SECOND } from '../platform/units.ts';
import { VERSION } from '../platform/version.ts';
import { createApp, createUnknown } from './app.ts';
import { openEndpoints } from './endpoints.ts';
import { exampleAnswers } from './example-answers.ts';
import { createHealth } from './health.ts';
import { holdPort, listen } from './listen.ts';
import { createCreditsProbe, observeDependencies, storeProbes } from './probes.ts';
import { warnAtStart, warnOfSuperuser } from './warnings.ts';

const POSTGRES_POOL = {
  applicationName: 'company-directory serve',
  max: 15,
  statementTimeoutMs: 5 * SECOND,
  lockTimeoutMs: 0.5 * SECOND,
};

/**
 * All statements with a list (test/service/list-statements.test.ts). Connections for one batch of credits, one of refunds, one of
 * records, two lists of companies, two batches of keys, two of accounts, locked accounts, the roll-up, which would otherwise read
 * the whole journal each time, and voids while Postgres hangs.
 * A batch of credits that meets a locked account gives up before the calls behind it have queued for too long
 * (`QUEUE_TIMEOUT_MS`).
 */
const POINT_QUERY_POOL = { ...POSTGRES_POOL, max: 13, lockTimeoutMs: 0.3 * SECOND, pointQueries: true };

/** Matches in Postgres: a connection for each query that the lane lets in (`MATCH_BATCHES`). */
const MATCH_POOL = { ...POSTGRES_POOL, max: 2, pointQueries: true };

/** Names of lists are read on one connection, so that they take one core of Postgres at most. */
const RESOLVE_POOL = { ...POSTGRES_POOL, max: 1, pointQueries: true };

/**
 * The dashboard's pool, so that pages never take a connection that the API needs. Forms that wait for their account's lock
 * time out soon.
 */
const DASHBOARD_POOL = { ...POSTGRES_POOL, max: 4, lockTimeoutMs: 0.2 * SECOND };

export interface ServiceOptions {
  /** By default the service creates its log. */
  log?: Log;
  /** The target of that log; stdout by default. */
  logTo?: LogTarget;
  /** Ends waiting for the embedded Postgres. */
  signal?: AbortSignal;
}

/**
 * Starts the service: configuration, resources, app, listen.
 *
 * @throws RefusedError in one line when the port is taken or Postgres can't be reached
 */
export async function startService(config: Config, options: ServiceOptions = {}) {
  const onFailed = (what: string, error: unknown) => log.error({ err: error }, `closing ${what} failed`);
  const cleanup = createCleanup(onFailed);
  // Work beside requests. It uses connections of `cleanup`, so it is closed before them.
  const tasks = createCleanup(onFailed);
  const log = options.log ?? openLog(options.logTo, cleanup);
  const stopping = new AbortController();
  let isLeaving = false;
  try {
    const held = holdPort(config.host, config.port);
    cleanup.add('the port', async () => held.release());
    const { port } = held;
    const publicUrl = config.publicUrl ?? defaultPublicUrl(config.host, port);

    const stores = await openStores(config, {
      postgres: POSTGRES_POOL,
      onLog: (line) => log.info({ line }, 'the stores'),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    cleanup.add('the stores', () => stores.close());
    if (stores.migrated.length > 0) log.info({ migrations: stores.migrated }, 'migrated');

    const metrics = createMetrics();
    const observer = createObserver({ publicUrl, log, metrics });
    observeRuns(metrics, stores.sql);
    observeAges(metrics, stores.sql, config.expectImportsDays);
    const pointQueries = stores.openPool(POINT_QUERY_POOL);
    const keepsActivity = config.activityDays > 0;
    const purge = () => purgeActivity(pointQueries, config.activityDays);
    void startPurge('old activity', purge, log, tasks).run();
    const notes = createNotes(pointQueries, { keepsActivity });
    tasks.add('the notes of requests', notes.start(log));
    const authenticator = await createAuthenticator(pointQueries, {
      used: notes.used,
      refused: (key, trace) => notes.answered(key, trace, problem('unauthorized'), NOTHING_PAID),
    });
    tasks.add('the authenticator', () => authenticator.close());
    const { rateLimiter, probes } = await openRateLimiter(config, cleanup, log, metrics);
    const rollups = startCallRollup(pointQueries, log, tasks);
    const creditsProbe = createCreditsProbe(pointQueries);
    const batchesVoided = metrics.counter(
      'credit_batches_voided_total',
      'Batches of credits that Postgres did not answer, voided so that their requests cost nothing.',
    );
    const credits = createCredits(pointQueries, {
      onEvent: (event) => {
        creditsProbe.note(event);
        if (event === 'voided') batchesVoided.inc();
        if (event === 'voided' || event === 'refunded') void rollups.run();
      },
      onLost: (owed) => reportLost(owed, log),
    });
    startPurge('old changes of debts', () => purgeChanges(stores.sql), log, tasks);
    const directoryHealth = await watchDirectory({ ...stores, config }, log, tasks);
    const pipeline = createPipeline({
      authenticator,
      rateLimiter,
      credits,
      entryOf: keepsActivity ? entryOf : () => undefined,
      notes,
      log,
      buyUrl: config.buyUrl,
    });
    const directory = openDirectory(config, stores, metrics);
    const matchPool = stores.elasticsearch === null ? stores.openPool(MATCH_POOL) : stores.sql;
    const parts = {
      publicUrl,
      countItem: createItemCounter(metrics),
      price: config.creditsPrice?.price,
      readAccount: createAccountReader(pointQueries),
      readLeft: credits.left,
      readKey: createKeyReader(pointQueries),
      readActivity: (...asked: Parameters<ReadActivity>) => readActivity(stores.sql, ...asked),
      readDatasets: createDatasetsReader(stores.sql),
      search: directory.answering(directory.search),
      match: openMatch({ ...stores, sql: matchPool }, directory),
      resolve: openResolve({ ...stores, sql: stores.openPool(RESOLVE_POOL) }, directory),
      ...openLookup(config, { ...stores, pointQueries, readLeft: credits.left }, tasks, log, metrics),
      screen: createScreen(pointQueries),
      readPage: (options: PageOptions) => readPage(pointQueries, options),
    };
    const handlers = openEndpoints(parts, config);
    const openApi = createOpenApi(publicUrl, await exampleAnswers(handlers), config.contact);
    const served = { publicUrl, stopping: stopping.signal, observer, pipeline, handlers, openApi };
    const sql = stores.openPool(DASHBOARD_POOL);
    const dashboard = await createDashboard({ ...served, sql, config, log, rateLimiter });
    tasks.add('the dashboard', () => dashboard.close());

    const ofStores = storeProbes({ ...stores, ...directory }, directoryHealth);
    const health = createHealth([...ofStores, creditsProbe.probe, ...probes], () => isLeaving, log);
    observeDependencies(health, stores, log, metrics);
    const { metricsToken } = config;
    const app = createApp({ ...served, metrics, metricsToken, health, dashboard });
    warnAtStart(log, config, publicUrl);
    await warnOfSuperuser(stores.sql, log);
    listen(app, createUnknown({ observer, dashboard }), config, held);
    log.info({ address: publicUrl, listens: `${config.host}:${port}`, version: VERSION }, 'listening');

    /**
     * Readiness fails, and the service answers for `SHUTDOWN_DELAY_S`. Then it closes the port, finishes requests, voids a batch in doubt
     * and closes everything, within `LONGEST_STOP_MS`.
     */
    async function stop(): Promise<void> {
      isLeaving = true;
      await waitForBalancers(config, log);
      stopping.abort();
      const untilMs = performance.now() + LONGEST_STOP_MS;
      log.info({ running: metrics.requests.running }, 'stopping');
      const warn = (what: string) => (error: unknown) => log.warn({ err: error }, what);
      const { server } = app; // Elysia lets go of it, and complains on stdout when it is stopped again
      const drained = withTimeout(Promise.resolve(app.stop()), DRAIN_TIMEOUT_MS, 'what was running');
      await drained.catch(warn('requests were cut off'));
      const closed = withTimeout(Promise.resolve(server?.stop(true)), SECOND, 'the server');
      await Promise.all([
        closed.catch(warn('connections were left open')),
        tasks.runInParallel(),
        // A void may take all the time of the stop. Without it the batch stays charged.
        credits.close(untilMs - CLOSE_TIMEOUT_MS - performance.now()),
      ]);
      await cleanup.runInReverse();
    }

    return { publicUrl, port, stop };
  } catch (error) {
    await tasks.runInParallel();
    await cleanup.runInReverse();
    throw error;
  }
}

/**
 * Reports credits that may stay charged, because Postgres did not acknowledge their voids and refunds before the end. Only the log
 * has them, because nobody can scrape a port that is closed.
 */
function reportLost(owed: Map<string, Call[]>, log: Log): void {
  const calls: Record<string, number> = {};
  for (const { accountId, credits } of [...owed.values()].flat()) {
    calls[accountId] = (calls[accountId] ?? 0) + credits;
  }
  log.error({ attempts: [...owed.keys()], calls }, 'credits may have been spent for requests answered 503');
}

/** A balancer sends requests until its next poll of readiness. They are answered meanwhile. */
async function waitForBalancers({ shutdownDelayS }: Config, log: Log): Promise<void> {
  if (shutdownDelayS === 0) return;
  log.info({ seconds: shutdownDelayS }, 'not ready; answering until balancers have seen it');
  await Bun.sleep(shutdownDelayS * SECOND);
}

function openLog(target: LogTarget | undefined, cleanup: Cleanup): Log {
  const { log, close } = createLog(target);
  cleanup.add('the log', close);
  return log;
}
