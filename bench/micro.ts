/**
 * `bun bench/micro.ts`: what a batch of each stage costs, and what each item in it adds. One process asks one batch after
 * the other with the service's own modules. CPU is that of this process and of the store's, fitted over batches of several sizes.
 */
import { parseArgs } from 'node:util';
import { cpuUs, fit } from './lib/micro/fit.ts';
import { openStages, type Stage } from './lib/micro/stages.ts';
import { storeProcesses } from './lib/processes.ts';
import { type Stack, startStack } from './lib/stack.ts';

const { values: options } = parseArgs({
  options: {
    stages: { type: 'string', default: 'bucket,credit,record,search' },
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    records: { type: 'string', default: '20000' },
  },
});

const ACCOUNTS = 1000;
const SIZES = [1, 2, 5, 10, 20, 40, 64];

/** The average cost of a batch of so many items. */
interface Cost {
  items: number;
  serviceUs: number;
  storeUs: number;
}

/** Asks batches of one size for a while. @param from the first item's position: no batch repeats the one before */
async function measure(stage: Stage, items: number, from: number, stack: Stack): Promise<Cost> {
  const store = (await storeProcesses(stack.servers, stack.sql))[stage.store];
  const before = { service: cpuUs([process.pid]), store: cpuUs(store) };
  const endMs = performance.now() + Number(options.seconds) * 1000;
  let batches = 0;
  for (; performance.now() < endMs; batches += 1) {
    const start = from + batches * items;
    await Promise.all(Array.from({ length: items }, (_, index) => stage.ask(start + index)));
  }
  return {
    items,
    serviceUs: (cpuUs([process.pid]) - before.service) / batches,
    storeUs: (cpuUs(store) - before.store) / batches,
  };
}

async function measureStage(stage: Stage, stack: Stack): Promise<Cost[]> {
  const sizes = SIZES.filter((size) => size <= stage.maxItems);
  const costs: Cost[] = [];
  // Round 0 warms up. Java's compiler takes longer: searches want `--seconds 3`.
  for (let round = 0; round <= Number(options.rounds); round += 1) {
    for (const items of sizes.toSorted(() => Math.random() - 0.5)) {
      const cost = await measure(stage, items, round * 1_000_003, stack);
      if (round > 0) costs.push(cost);
    }
  }
  return costs;
}

/** `F + a n`: what a batch costs, and what each item adds. */
function formula(costs: Cost[], of: (cost: Cost) => number): string {
  const { batchUs, itemUs } = fit(costs.map((cost) => [cost.items, of(cost)]));
  return `${batchUs.toFixed(0)} + ${itemUs.toFixed(1)} n`;
}

const companies = Number(options.records);
const stack = await startStack({ companies, records: companies, accounts: ACCOUNTS });
const { stages, close } = await openStages(stack, companies);
try {
  process.stdout.write(
    'CPU microseconds of a batch of n items:\n\n| stage | service | store |\n| --- | --- | --- |\n',
  );
  for (const stage of stages.filter(({ name }) => options.stages.split(',').includes(name))) {
    const costs = await measureStage(stage, stack);
    const service = formula(costs, ({ serviceUs }) => serviceUs);
    process.stdout.write(
      `| ${stage.name} | ${service} | ${stage.store} ${formula(costs, ({ storeUs }) => storeUs)} |\n`,
    );
  }
} finally {
  await close();
  await stack.stop();
}
