/**
 * `bun bench/doors.ts`: a customer's lookups beside one client that sends the dashboard what is slow to parse, each time beside the
 * same bytes of one letter, in turns. Prints the lookups' p50 and p99, and the process's peak memory. Wanted: at 16 connections a p99 within
 * twice that beside the letters; at 100 connections at most 300 MB.
 */
import { parseArgs } from 'node:util';
import { startCrowd } from '../test/dashboard/crowd.ts';
import { createMember } from '../test/dashboard/visitor.ts';
import { get } from './lib/load.ts';
import { generateCompany } from './lib/names.ts';
import { measureNeighbour } from './lib/neighbour.ts';
import { type Service, startStack } from './lib/stack.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '16,100' },
    cases: { type: 'string', default: '' },
    turns: { type: 'string', default: '3' },
  },
});
const RECORDS = 1000;
const PER_SECOND = 40;
/** Nearly as large as a list may be. */
const FORM_BYTES = 190_000;
/** Bun takes 64 KiB of headers. */
const HEADER_BYTES = 60_000;

const AUTH_SECRET = 'x'.repeat(40);

const stack = await startStack({ companies: RECORDS, records: RECORDS, inPostgres: true });

const head = (line: string, headers: string) => `${line} HTTP/1.1\r\nHost: bench\r\n${headers}\r\n`;
const form = (cookie: string, body: string) =>
  head(
    'POST /dashboard/screen',
    `Cookie: ${cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n`,
  ) + body;
const signIn = (query: string, headers: string) => head(`GET /dashboard/sign-in?${query}`, headers);

/** The cookies of a member's browser. */
interface Cookies {
  browser: string;
  session: string;
}

/** Each request by the text that it repeats. */
const CASES: Record<
  string,
  [slow: string, request: (text: (bytes: number) => string, cookies: Cookies) => string]
> = {
  'form of a member': [
    'a&',
    (text, { browser, session }) => form(`${browser}; ${session}`, text(FORM_BYTES)),
  ],
  'form of a known browser': ['a&', (text, { browser }) => form(browser, text(FORM_BYTES))],
  'form of a session alone': ['a&', (text, { session }) => form(session, text(FORM_BYTES))],
  'form of a visitor': ['a&', (text) => form('a=b', text(32_000))],
  cookies: ['a=b;', (text) => signIn('', `Cookie: x=${text(HEADER_BYTES)}\r\n`)],
  'cookies of a known browser': [
    'a=b;',
    (text, { browser }) => signIn('', `Cookie: ${browser}; x=${text(15_000)}\r\n`),
  ],
  query: ['a&', (text) => signIn(text(HEADER_BYTES), '')],
  'X-Forwarded-For': ['a,', (text) => signIn('', `X-Forwarded-For: ${text(HEADER_BYTES)}\r\n`)],
};

const lookups = Array.from({ length: RECORDS }, (_, index) =>
  get(`/api/v1/companies/${generateCompany(index).nif}`, stack.keys.rich[0]),
);

const measure = (service: Service, name: string, seconds = Number(options.seconds)) =>
  measureNeighbour(name, service, { requests: lookups, perSecond: PER_SECOND, seconds });

/** The lookups' p99 beside a crowd that repeats a request, in a process that has served nothing else. */
async function beside(
  name: string,
  connections: number,
  request: (cookies: Cookies) => string,
): Promise<number> {
  const service = await stack.serve({ AUTH_SECRET, SIGN_UP: 'closed' });
  try {
    const { host: hostname, port } = service;
    const baseUrl = `http://${hostname}:${port}`;
    const { visitor } = await createMember({
      baseUrl,
      sql: stack.sql,
      config: { authSecret: AUTH_SECRET },
    });
    const cookieOf = (cookie: string) => `${cookie}=${visitor.cookies.get(cookie)}`;
    const cookies = { browser: cookieOf('dashboard.browser'), session: cookieOf('dashboard.session_token') };
    await measure(service, `  alone`, 3);
    const crowd = await startCrowd({ hostname, port, connections, request: request(cookies) });
    await Bun.sleep(1000);
    const { p99Ms } = await measure(service, `  ${name}`);
    crowd.stop();
    process.stdout.write(`    its answers: ${JSON.stringify(crowd.answers)}\n`);
    return p99Ms;
  } finally {
    await service.stop();
  }
}

try {
  const names = options.cases === '' ? Object.keys(CASES) : options.cases.split(',');
  for (const connections of options.connections.split(',').map(Number)) {
    for (const name of names) {
      const [slow, request] = CASES[name]!;
      const repeating = (text: string) => (cookies: Cookies) =>
        request((bytes) => text.repeat(bytes / text.length), cookies);
      process.stdout.write(`${name}, ${connections} connections\n`);
      const p99s: [letters: number, pairs: number][] = [];
      for (let turn = 0; turn < Number(options.turns); turn += 1) {
        const letters = await beside('letters', connections, repeating('a'));
        p99s.push([letters, await beside('pairs', connections, repeating(slow))]);
      }
      const median = (index: 0 | 1) =>
        p99s.map((pair) => pair[index]).toSorted((a, b) => a - b)[Math.floor(p99s.length / 2)]!;
      const [letters, pairs] = [median(0), median(1)];
      process.stdout.write(
        `  median p99: ${pairs.toFixed(0)} / ${letters.toFixed(0)} ms, ${(pairs / letters).toFixed(2)}\n`,
      );
    }
  }
} finally {
  await stack.stop();
}
