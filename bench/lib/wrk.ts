import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What one run of the load generator measured. */
export interface Load {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Answers that were not 2xx. */
  refused: number;
  /** Connections, reads, writes or time-outs that failed. */
  failed: number;
  requests: number;
}

export interface Target {
  host: string;
  port: number;
  /** Whole requests as they go over the wire; each connection begins at another place. */
  requests: string[];
}

/** Requests are separated by this in the file that the load generator reads. */
const SEPARATOR = '\u0000';

const SCRIPT = `
local requests = {}
local at = 0
local threads = 0

function setup(thread)
  thread:set('number', threads)
  threads = threads + 1
end

function init(args)
  local file = io.open(args[1], 'rb')
  for request in file:read('*a'):gmatch('[^%z]+') do requests[#requests + 1] = request end
  file:close()
  at = math.floor(number * #requests / 2)
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.stderr:write(string.format('{"us":%d,"requests":%d,"p50":%d,"p99":%d,"refused":%d,"failed":%d}\\n', summary.duration,
    summary.requests, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
`;

/** Runs wrk against the target. @throws when wrk is missing or fails */
export async function runWrk(target: Target, connections: number, seconds: number): Promise<Load> {
  const base = join(tmpdir(), `bench-${randomUUID()}`);
  await Bun.write(`${base}.lua`, SCRIPT);
  await Bun.write(`${base}.requests`, target.requests.join(SEPARATOR));
  try {
    const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', `${base}.lua`];
    const wrk = Bun.spawn(
      ['wrk', ...options, `http://${target.host}:${target.port}/`, '--', `${base}.requests`],
      {
        stdout: 'pipe',
        stderr: 'pipe',
      },
    );
    const [report, output, code] = await Promise.all([
      new Response(wrk.stderr).text(),
      new Response(wrk.stdout).text(),
      wrk.exited,
    ]);
    if (code !== 0) throw new Error(`wrk failed: ${output}${report}`);
    const { us, requests, p50, p99, refused, failed } = JSON.parse(report.trim().split('\n').at(-1) ?? '');
    return {
      requestsPerSecond: (requests / us) * 1e6,
      p50Ms: p50 / 1000,
      p99Ms: p99 / 1000,
      refused,
      failed,
      requests,
    };
  } finally {
    await rm(`${base}.lua`, { force: true });
    await rm(`${base}.requests`, { force: true });
  }
}

const authorization = (key?: string) => (key === undefined ? '' : `Authorization: Bearer ${key}\r\n`);

/** A GET request as it goes over the wire. */
export function get(path: string, host: string, key?: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${authorization(key)}\r\n`;
}

/** A POST of JSON as it goes over the wire. */
export function post(
  path: string,
  host: string,
  body: string,
  key?: string,
  headers: Record<string, string> = {},
): string {
  const all = { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${authorization(key)}${lines.join('')}\r\n${body}`;
}
