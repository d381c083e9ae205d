/** Reads the file of its argument, with the options of the second as JSON, and prints what it held and the peak of this process's memory. */
import { readFileSync } from 'node:fs';
import { openRows } from '../../../src/companies/ingest/open-rows.ts';

const options = JSON.parse(Bun.argv[3]!);
const reader = await openRows({ path: Bun.argv[2]! }, ['nif', 'legal_name'], options);
let rows = 0;
let rejected = 0;
for await (const batch of reader.batches) {
  rows += batch.rows.length;
  rejected += batch.rejected.length;
}
console.log(JSON.stringify({ rows, rejected, peakMib: peakMib() }));

/** The most memory that this process had. Not `maxRSS` on Linux: a child begins with its parent's. */
function peakMib(): number {
  if (process.platform === 'linux') {
    const peakKib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
    return Number(peakKib?.[1]) / 1024;
  }
  return process.resourceUsage().maxRSS / 1024 / 1024;
}
