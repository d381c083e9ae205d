/** Every series that a rule of docs/operating.md reads is there before its first event, or Prometheus would see no increase in it. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { VERSION } from '../../src/platform/version.ts';
import { ROOT } from '../support/command.ts';
import { startTestService } from '../support/service.ts';

type Labels = Record<string, string>;

/** `name{label="value"}` of a rule or of a scrape; the operator of a label is `=` or `=~`. */
function selectorsIn(text: string): { name: string; labels: [label: string, pattern: RegExp][] }[] {
  return [...text.matchAll(/\b([a-z]+(?:_[a-z]+)+)(?:\{([^}]*)\})?(?=\[| [=<>]| \/|\))/g)].map(
    ([, name, labels = '']) => ({
      name: name!,
      labels: [...labels.matchAll(/(\w+)(=~?)"([^"]*)"/g)].map(([, label, operator, value]) => [
        label!,
        new RegExp(operator === '=' ? `^${RegExp.escape(value!)}$` : `^(?:${value})$`),
      ]),
    }),
  );
}

function seriesOf(scrape: string): { name: string; labels: Labels }[] {
  return [...scrape.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)].map(([, name, labels = '']) => ({
    name: name!,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label!, value!]),
    ),
  }));
}

test('a service that has answered nothing has every series of the rules for alerts, and its version', async () => {
  const page = await Bun.file(join(ROOT, 'docs/operating.md')).text();
  const cells = page.split('\n').flatMap((line) => (line.startsWith('|') ? [line.split(' | ')[0]!] : []));
  const rules = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!));
  const wanted = rules.map((rule) => rule.replaceAll('\\|', '|')).flatMap(selectorsIn);
  expect(wanted.length).toBeGreaterThan(10);

  const service = await startTestService({ env: { REFRESHES_PER_DAY: '100' } });
  try {
    const scrape = await (await fetch(`${service.baseUrl}/metrics`)).text();
    const series = seriesOf(scrape);
    const missing = wanted.filter(
      ({ name, labels }) =>
        !series.some(
          (one) =>
            one.name === name && labels.every(([label, pattern]) => pattern.test(one.labels[label] ?? '')),
        ),
    );
    // These are about Elasticsearch, which this service does not have.
    expect(missing.map(({ name }) => name)).toEqual(['elasticsearch_node_up']);
    expect(scrape).toContain(`\nbuild_info{version="${VERSION}",bun="${Bun.version}"} 1\n`);
    expect(service.logLines).toContainEqual(expect.objectContaining({ msg: 'listening', version: VERSION }));
  } finally {
    await service.stop();
  }
});
