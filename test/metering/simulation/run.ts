/**
 * Plays histories of the ledger until one ends wrong: `bun test/metering/simulation/run.ts [--seed N] [--seconds N]`.
 *
 * A wrong history is printed with its seed and the fewest actions that still end wrong, and the exit code is 1. `--seed N` alone plays
 * one history and prints all that happens in it. `--fault NAME` plants a fault first.
 */
import { parseArgs } from 'node:util';
import { FAULTS, faultNamed, UNSEEN } from './faults.ts';
import type { History } from './history.ts';
import { loadBySeam } from './seam.ts';
import { replaceGlobals } from './world.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string' }, seconds: { type: 'string' }, fault: { type: 'string' } },
});
const fault = faultNamed(values.fault, FAULTS, UNSEEN);
const startedMs = performance.now();
const realNow = performance.now.bind(performance);
loadBySeam(fault);
replaceGlobals();
const { generateSecret } = await import('../../../src/metering/keys/secret.ts');
const { createHistory, useSecrets } = await import('./history.ts');
useSecrets(Array.from({ length: 6 }, () => generateSecret()));
const { play } = await import('./play.ts');

const first = Number(values.seed ?? 1);
const isTraced = values.seed !== undefined && values.seconds === undefined;
const last = isTraced ? first : Number.POSITIVE_INFINITY;
const untilMs = startedMs + Number(values.seconds ?? Number.POSITIVE_INFINITY) * 1000;
let histories = 0;
for (let seed = first; seed <= last && realNow() < untilMs; seed += 1) {
  const history = createHistory(seed);
  const { problems } = await play(history, isTraced ? { trace: (line) => console.log(line) } : {});
  histories += 1;
  if (problems.length === 0) continue;
  const foundMs = realNow() - startedMs;
  console.log(`seed ${seed}, after ${histories} histories, ${Math.round(foundMs)} ms:`);
  console.log(problems.slice(0, 10).join('\n'));
  if (fault === undefined && !isTraced) {
    const { actions, accounts } = await shrink(history);
    console.log([accounts, ...actions].map((item) => JSON.stringify(item)).join('\n'));
    console.log(`replay: bun test/metering/simulation/run.ts --seed ${seed}`);
  }
  process.exit(1);
}
if (!isTraced) console.log(`${histories} histories, all right`);
process.exit();

/** The history with the fewest actions that still ends wrong, within some hundred tries. */
async function shrink(history: History): Promise<History> {
  let { actions } = history;
  let tries = 400;
  for (let size = Math.ceil(actions.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < actions.length && tries > 0; tries -= 1) {
      const fewer = actions.toSpliced(at, size);
      const { problems } = await play({ ...history, actions: fewer });
      if (problems.length > 0) actions = fewer;
      else at += size;
    }
  }
  return { ...history, actions };
}
