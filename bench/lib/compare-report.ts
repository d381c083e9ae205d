/** The figures of one burst of load on one revision. CPU in milliseconds for each right answer. */
export interface Burst {
  /** Right answers a second. */
  rate: number;
  service: number;
  postgres: number;
  redis: number;
  elasticsearch: number;
  p50: number;
  p99: number;
  /** Credits spent for each right answer. */
  credits: number;
  /** Answers of another status than the scenario's. */
  wrong: number;
}

/** Bursts of both revisions, seconds apart. */
export interface Pair {
  a: Burst;
  b: Burst;
}

const FIGURES: { name: string; of(burst: Burst): number }[] = [
  { name: 'right answers a second', of: ({ rate }) => rate },
  { name: 'CPU ms: all processes', of: (burst) => cpuOf(burst) },
  { name: 'CPU ms: service', of: ({ service }) => service },
  { name: 'CPU ms: Postgres', of: ({ postgres }) => postgres },
  { name: 'CPU ms: Redis', of: ({ redis }) => redis },
  { name: 'CPU ms: Elasticsearch', of: ({ elasticsearch }) => elasticsearch },
  { name: 'p50 ms', of: ({ p50 }) => p50 },
  { name: 'p99 ms', of: ({ p99 }) => p99 },
  { name: 'credits', of: ({ credits }) => credits },
];

/** The table of one scenario in Markdown. Ratios are B's figure over A's in one pair. */
export function scenarioTable(name: string, pairs: Pair[]): string {
  const heading = ['', 'A', 'B', 'B / A', 'quartiles', 'least and most'];
  const rows = FIGURES.map((figure) => {
    const ratios = pairs.map(({ a, b }) => figure.of(b) / figure.of(a)).filter(Number.isFinite);
    return [
      figure.name,
      shown(
        quantile(
          pairs.map(({ a }) => figure.of(a)),
          0.5,
        ),
      ),
      shown(
        quantile(
          pairs.map(({ b }) => figure.of(b)),
          0.5,
        ),
      ),
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

const cpuOf = (burst: Burst) => burst.service + burst.postgres + burst.redis + burst.elasticsearch;

const ratio = (ratios: number[], share: number) => quantile(ratios, share).toFixed(3);

const shown = (value: number) =>
  value >= 100 ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 3);
