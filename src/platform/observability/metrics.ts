import { Counter, Gauge, Registry } from 'prom-client';
import { BATCH_TOTALS, type BatchTotals } from '../runtime/batcher.ts';
import { SECOND } from '../units.ts';
import { VERSION } from '../version.ts';
import { createRequestCounts } from './request-counts.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * The metrics at `/metrics`. A part of the service declares its own where it counts them. Labels come from fixed lists, so that their
 * number stays small. Prometheus sees no increase in a series that begins at 1, so a part adds 0 to each of its series first.
 */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const requests = createRequestCounts();

  const declare = {
    counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: (name: string, help: string) => new Gauge({ name, help, registers }),
    /** A gauge that is read at each scrape. */
    gaugeOf: (name: string, help: string, read: () => number): void =>
      declare.gaugesOf(async () => read(), [{ name, help, value: (value) => value }]),
    /** A counter whose totals are kept elsewhere: at each scrape `read` gives the total for each value of the label. */
    counterOf: (name: string, help: string, label: string, read: () => Record<string, number>) =>
      new Counter({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [value, total] of Object.entries(read())) this.inc({ [label]: value }, total);
        },
      }),
    /** Gauges that are read together at each scrape. If the read fails, they keep their values. */
    gaugesOf<Answer>(read: () => Promise<Answer>, gauges: GaugeOf<Answer>[]): void {
      let reading: Promise<Answer> | null = null;
      const readOnce = () => {
        reading ??= read().finally(() => {
          reading = null;
        });
        return reading;
      };
      for (const gauge of gauges) {
        const { name, help, label } = gauge;
        new Gauge({
          name,
          help,
          labelNames: label === undefined ? [] : [label],
          registers,
          async collect() {
            const answer = await readOnce().catch(() => null);
            if (answer === null) return;
            this.reset();
            // Without a label prom-client shows 0 after a reset.
            if (label === undefined) this.remove();
            const values = gauge.label === undefined ? { '': gauge.value(answer) } : gauge.values(answer);
            for (const [of, value] of Object.entries(values))
              if (value !== null) this.set(label === undefined ? {} : { [label]: of }, Number(value));
          },
        });
      }
    },
  };

  new Gauge({
    name: 'build_info',
    help: '1, with the version of the service and of Bun as labels.',
    labelNames: ['version', 'bun'],
    registers,
  }).set({ version: VERSION, bun: Bun.version }, 1);
  declare.gaugeOf('process_resident_memory_bytes', 'Memory that the process occupies.', () =>
    process.memoryUsage.rss(),
  );
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  for (const [name, help, of] of BATCH_COUNTERS) {
    const read = () => Object.fromEntries([...BATCH_TOTALS].map(([stage, totals]) => [stage, of(totals)]));
    declare.counterOf(name, help, 'stage', read);
  }
  return {
    ...declare,
    requests,
    text: async () => `${requests.text()}\n${await registry.metrics()}`,
    contentType: registry.contentType,
  };
}

/** A gauge whose value comes from an answer that several share, or one for each value of its label. `null` means none. */
type GaugeOf<Answer> = { name: string; help: string } & (
  | { label?: undefined; value(answer: Answer): number | null }
  | { label: string; values(answer: Answer): Record<string, number | boolean | null> }
);

/** How well batches work: items a batch, and time in flight. */
const BATCH_COUNTERS: [name: string, help: string, of: (totals: BatchTotals) => number][] = [
  ['batch_runs_total', 'Batches sent to a store, by stage.', ({ batches }) => batches],
  ['batch_items_total', 'Items of these batches.', ({ items }) => items],
  ['batch_run_seconds_total', 'Time from the start of a batch to its answer.', ({ runMs }) => runMs / SECOND],
];
