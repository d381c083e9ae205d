import { readdirSync, readFileSync } from 'node:fs';
import type { Sql } from 'postgres';
import type { RunningServers } from '../../test/servers/servers.ts';

const TICKS_PER_SECOND = 100; // Linux's USER_HZ

/** CPU seconds that the processes have used so far, with those of their ended children. */
export function cpuSeconds(pids: number[]): number {
  return pids.reduce((sum, pid) => sum + cpuOf(pid), 0);
}

function cpuOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // utime, stime, and the same of the children that it has waited for
    return fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) / TICKS_PER_SECOND;
  } catch {
    return 0; // it has ended
  }
}

/** Resident memory, MiB. */
export function residentMb(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}

/** The process of this node. A container has its own ids of processes, so for a node in one these are all nodes on this machine. */
async function elasticsearchProcesses(url: string): Promise<number[]> {
  const answer = await fetch(`${url}/_nodes/_local/process?filter_path=nodes.*.process.id`);
  const { nodes } = (await answer.json()) as { nodes: Record<string, { process: { id: number } }> };
  const pid = Object.values(nodes)[0]?.process.id;
  const all = processesOf('org.elasticsearch');
  return pid !== undefined && all.includes(pid) ? [pid] : all;
}

/** Processes whose command line contains the text, and all of their descendants. */
function processesOf(text: string): number[] {
  const parents = new Map<number, number>();
  const found = new Set<number>();
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      parents.set(pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(text)) found.add(pid);
    } catch {
      // it has ended
    }
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

/** The processes of each store, by id. Read them before each measurement: Postgres has one for each connection. */
export interface StoreProcesses {
  postgres: number[];
  elasticsearch: number[];
  redis: number[];
}

/** Finds the stores' processes on this machine; a store elsewhere has none. */
export async function storeProcesses(servers: RunningServers, sql: Sql): Promise<StoreProcesses> {
  const [row] = await sql<{ directory: string }[]>`SELECT current_setting('data_directory') AS directory`;
  return {
    postgres: processesOf(row!.directory),
    elasticsearch: await elasticsearchProcesses(servers.elasticsearchUrl),
    redis: processesOf(`redis-server 127.0.0.1:${new URL(servers.redisUrl).port}`),
  };
}
