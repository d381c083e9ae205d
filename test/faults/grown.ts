import { get } from '../../bench/lib/load.ts';
import { generateCompany } from '../../bench/lib/names.ts';
import { measureNeighbour } from '../../bench/lib/neighbour.ts';
import { startProcess } from '../../bench/lib/stack.ts';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { createMember, type Visitor } from '../dashboard/visitor.ts';
import { growAccount } from '../support/grown-account.ts';
import { callsAbout } from './calls.ts';
import { commandsAbout, runCommands } from './grown-commands.ts';
import { type Load, repeat } from './repeat.ts';

/** Rows of everything that a customer can make. */
const ROWS = 300_000;
const SECONDS = 12;
/** Requests of the customer that are always in flight. */
const LANES = 4;
const PER_SECOND = 100;
/** Beside the customer, the neighbour's p99 and the memory may be this many times what they are on a quiet service. */
const MOST_TIMES = 2;
/** A p99 below this is none that a neighbour notices, and on two cores a quiet service has it, too. */
const NOTICED_MS = 25;

/**
 * Measures a neighbour's calls and the memory of a process while a customer whose account has 300,000 rows of everything opens every
 * page, takes every file, and an operator runs the commands about that account.
 *
 * @param keys of the neighbour's accounts
 * @returns the rules that do not hold
 */
export async function measureGrown(
  sql: Sql,
  options: { checkout: string; environment: Record<string, string>; keys: string[]; companies: number },
): Promise<string[]> {
  const { checkout, environment, keys, companies } = options;
  const authSecret = 'x'.repeat(40);
  const members = { AUTH_SECRET: authSecret, SIGN_UP: 'open', TRUST_PROXY: '127.0.0.1' };
  const service = await startProcess(['src/main.ts', 'serve'], { ...environment, ...members }, checkout);
  try {
    const baseUrl = `http://${service.host}:${service.port}`;
    const { visitor, accountId } = await createMember({ baseUrl, sql, config: { authSecret } });
    await changePlan(sql, accountId, 'plus', {}, 'faults');
    const { keyId, memberId } = await growAccount(sql, accountId, ROWS);
    await sql`VACUUM ANALYZE`;
    await sql`CHECKPOINT`;
    const routes = Object.entries(ROUTES).filter(([, route]) => route.for === 'member' && route.GET);
    const addresses = routes.map(
      ([path]) => `/dashboard${path.replace(':id', path.startsWith('/keys') ? keyId : memberId)}`,
    );
    const isFile = (path: string) => /\.\w+$/.test(path);
    const narrowed = ['?days=7', '/keys?q=nothing', '/keys?state=idle', '/keys?state=ended'];
    const pages = [
      ...addresses.filter((path) => !isFile(path)),
      ...narrowed.map((path) => `/dashboard${path}`),
    ];
    const commands = await commandsAbout(sql, { accountId, keyId, memberId });
    // The commands come last, because they delete the account.
    const loads: Record<string, () => Load> = {
      pages: () => browse(baseUrl, visitor, pages),
      files: () => browse(baseUrl, visitor, addresses.filter(isFile)),
      commands: () => runCommands(checkout, environment, commands),
    };
    const requests = Array.from({ length: 500 }, (_, index) => {
      const paths = Object.values(callsAbout(generateCompany(index % companies)));
      return get(`/api/v1${paths[index % paths.length]}`, keys[index % keys.length]);
    });
    const schedule = { requests, perSecond: PER_SECOND, seconds: SECONDS };
    const measure = (name: string, goesOn?: () => boolean) =>
      measureNeighbour(name, service, schedule, goesOn);
    await browse(baseUrl, visitor, pages).stop(); // warms up
    await measure('warm-up');
    const failures: string[] = [];
    for (const [name, start] of Object.entries(loads)) {
      // Right before, because the machine may have changed.
      const quiet = await measure('quiet');
      const load = start();
      const figures = await measure(`beside ${name}`, () => !load.isThrough());
      process.stdout.write(`  ${await load.stop()}\n`);
      if (figures.p99Ms > Math.max(MOST_TIMES * quiet.p99Ms, NOTICED_MS))
        failures.push(`beside ${name} of a grown account the p99 is ${figures.p99Ms.toFixed(0)} ms`);
      if (figures.peakMb > MOST_TIMES * quiet.peakMb)
        failures.push(`beside ${name} of a grown account the process has ${figures.peakMb.toFixed(0)} MB`);
      if (figures.refused > 0) failures.push(`beside ${name} ${figures.refused} calls were refused`);
    }
    return failures;
  } finally {
    await service.stop();
  }
}

/** Opens the pages in turn, as fast as they come. A cut-off file counts as 0. The answers are not parsed, which takes a core. */
function browse(baseUrl: string, { cookies }: Visitor, paths: string[]): Load {
  const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
  return repeat(LANES, paths, async (path) => {
    try {
      const response = await fetch(baseUrl + path, { headers: { cookie }, redirect: 'manual' });
      await response.body?.pipeTo(new WritableStream());
      return response.status;
    } catch {
      return 0;
    }
  });
}
