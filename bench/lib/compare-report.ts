import { type Measured, PROCESSES } from './measure.ts';

/** The figures of one burst of load on one revision. */
export interface Burst extends Measured {
  /** Credits spent for each right answer. */
  credits: number;
}

/** Bursts of both revisions, seconds apart. */
export interface Pair {
  a: Burst;
  b: Burst;
}

const FIGURES: { name: string; of(burst: Burst): number }[] = [
  { name: 'right answers a second', of: ({ perSecond }) => perSecond },
  { name: 'CPU ms: all', of: ({ cpuMs }) => PROCESSES.reduce((sum, name) => sum + cpuMs[name], 0) },
  ...PROCESSES.map((name) => ({ name: `CPU ms: ${name}`, of: ({ cpuMs }: Burst) => cpuMs[name] })),
  { name: 'p50 ms', of: ({ p50Ms }) => p50Ms },
  { name: 'p99 ms', of: ({ p99Ms }) => p99Ms },
  { name: 'credits', of: ({ credits }) => credits },
];

/** The table of one scenario in Markdown. Ratios are B's figure over A's in one pair. */
export function scenarioTable(name: string, pairs: Pair[]): string {
  const heading = ['', 'A', 'B', 'B / A', 'quartiles', 'least and most'];
  const rows = FIGURES.map((figure) => {
    const ratios = pairs.map(({ a, b }) => figure.of(b) / figure.of(a)).filter(Number.isFinite);
    return [
      figure.name,
      ...(['a', 'b'] as const).map((side) => {
        const figures = pairs.map((pair) => figure.of(pair[side]));
        return shown(quantile(figures, 0.5));
      }),
      ...(ratios.length === 0
        ? ['', '', '']
        : [
            ratio(ratios, 0.5),
            `${ratio(ratios, 0.25)} – ${ratio(ratios, 0.75)}`,
            `${ratio(ratios, 0)} – ${ratio(ratios, 1)}`,
          ]),
    ];
  });
  const wrong = pairs.reduce((sum, { a, b }) => ({ a: sum.a + a.wrong, b: sum.b + b.wrong }), { a: 0, b: 0 });
  const table = [heading, heading.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
  const note = wrong.a + wrong.b === 0 ? '' : `\nAnswers of another status: A ${wrong.a}, B ${wrong.b}.\n`;
  return `## ${name}, ${pairs.length} pairs\n\n${table}\n${note}`;
}

/** The value below which this share of the values lies, between the two nearest in proportion. */
function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)]!;
  return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at));
}

const ratio = (ratios: number[], share: number) => quantile(ratios, share).toFixed(3);

const shown = (value: number) =>
  value >= 100 ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 3);
