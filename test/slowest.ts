/** `bun run test:slowest`: the 20 slowest files and tests of the last `bun run test` of this checkout, in seconds. */
import { DOMParser } from 'linkedom';
import { REPORT } from './run.ts';

const COUNT = 20;

interface Item {
  seconds: number;
  name: string;
}

const report = Bun.file(REPORT);
if (!(await report.exists())) {
  console.error('there is no report yet: bun run test');
  process.exit(1);
}
const document = new DOMParser().parseFromString(await report.text(), 'text/xml');

/** @param selector of the elements @param attributes that name each */
function itemsOf(selector: string, attributes: string[]): Item[] {
  return [...document.querySelectorAll(selector)].map((element) => ({
    seconds: Number(element.getAttribute('time')),
    name: attributes.map((attribute) => element.getAttribute(attribute)).join(' '),
  }));
}

function print(items: Item[]): void {
  const slowest = items.toSorted((a, b) => b.seconds - a.seconds).slice(0, COUNT);
  for (const { seconds, name } of slowest) console.log(`${seconds.toFixed(1).padStart(6)}  ${name}`);
}

print(itemsOf('testsuites > testsuite', ['file']));
console.log();
print(itemsOf('testcase', ['file', 'line', 'name']));
