/**
 * `bun bench/memory.ts`: the resident memory of a process of the service, once its search cache is full and for as long as it is used
 * after that. First as many lookups and new searches as it can answer; then half lookups and half searches at a fixed rate, so that
 * the machine can be used for something else meanwhile. Wants wrk.
 */
import { parseArgs } from 'node:util';
import { generateCompany } from './lib/names.ts';
import { runOpenLoop } from './lib/open-loop.ts';
import { residentMb } from './lib/processes.ts';
import { type Service, startProcess, startStack } from './lib/stack.ts';
import { randomPrefixes } from './lib/traffic.ts';
import { get, runWrk } from './lib/wrk.ts';

const { values: options } = parseArgs({
  options: {
    companies: { type: 'string', default: '200000' },
    minutes: { type: 'string', default: '30' },
    'per-second': { type: 'string', default: '1000' },
  },
});

const companies = Number(options.companies);
const minutes = Number(options.minutes);
const perSecond = Number(options['per-second']);

const ACCOUNTS = 1000;
const CONNECTIONS = 256;
/** Searches that take turns: more than the cache holds, so that it always drops an answer for a new one. */
const SEARCHES = 200_000;

async function main(): Promise<void> {
  const stack = await startStack(companies, companies, ACCOUNTS);
  const service = await startProcess(['src/main.ts', 'serve'], stack.environment);
  const memory = watchMemory(service.pid);
  const key = (index: number) => stack.keys[index % ACCOUNTS];
  const searches = randomPrefixes(companies, SEARCHES).map((query, index) =>
    get(`/api/v1/companies?q=${encodeURIComponent(query)}`, 'bench', key(index)),
  );
  const lookups = searches.map((_, index) =>
    get(`/api/v1/companies/${generateCompany(index % companies).nif}`, 'bench', key(index)),
  );
  try {
    report('started', memory.take());
    await runWrk({ ...service, requests: lookups }, CONNECTIONS, 20);
    report('lookups for 20 s', memory.take());
    await runWrk({ ...service, requests: searches }, CONNECTIONS, 40);
    report(`searches for 40 s, ${await cachedMb(service)} MB of answers kept`, memory.take());
    const loaded = runOpenLoop({
      ...service,
      perSecond,
      seconds: minutes * 60,
      connections: CONNECTIONS,
      requests: searches.flatMap((search, index) => [search, lookups[index]!]),
    });
    for (let minute = 1; minute <= minutes; minute += 1) {
      await Bun.sleep(60_000);
      report(`minute ${minute}, ${await cachedMb(service)} MB of answers kept`, memory.take());
    }
    const { times, unanswered } = await loaded;
    const answers = Object.entries(times).map(([status, all]) => `${all.length} × ${status}`);
    process.stdout.write(`${perSecond} a second: ${answers.join(', ')}, ${unanswered} without an answer\n`);
  } finally {
    memory.stop();
    await service.stop();
    await stack.stop();
  }
}

interface Memory {
  meanMb: number;
  peakMb: number;
}

/** Reads the process's resident memory ten times a second; `take` sums up what was read since the last time. */
function watchMemory(pid: number) {
  let read = [residentMb(pid)];
  const timer = setInterval(() => read.push(residentMb(pid)), 100);
  return {
    take(): Memory {
      const meanMb = read.reduce((sum, mb) => sum + mb, 0) / read.length;
      const peakMb = Math.max(...read);
      read = [read.at(-1)!];
      return { meanMb, peakMb };
    },
    stop: () => clearInterval(timer),
  };
}

function report(when: string, { meanMb, peakMb }: Memory): void {
  process.stdout.write(`${when}: mean ${Math.round(meanMb)} MB, peak ${Math.round(peakMb)} MB\n`);
}

/** The size of the cache of search answers by its own count, MiB. */
async function cachedMb({ host, port }: Service): Promise<number> {
  const text = await (await fetch(`http://${host}:${port}/metrics`)).text();
  return Math.round(Number(/^search_cache_bytes (\d+)/m.exec(text)?.[1] ?? 0) / 1024 ** 2);
}

await main();
