import type { Page } from 'playwright-core';

const WIDTHS = [320, 360, 412, 480, 640, 641, 768, 929, 1000, 1057, 1280, 1920];

/**
 * The faults of a page: boxes and cells that are too narrow for what they hold, and words that are broken over lines, of up to 12
 * characters, or of up to 24 where tables have columns.
 */
const FAULTS = `(() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('the page is ' + (root.scrollWidth - root.clientWidth) + ' px too wide');
  for (const box of document.querySelectorAll('.card, .notice, .badge, nav, header'))
    if (box.checkVisibility() && box.scrollWidth > box.clientWidth + 1) faults.push(box.className + ' is ' + (box.scrollWidth - box.clientWidth) + ' px too wide');
  for (const cell of document.querySelectorAll('.stacked :is(td, th)'))
    if (cell.checkVisibility() && cell.scrollWidth > cell.clientWidth + 1) faults.push('a cell is too narrow for ' + cell.textContent.trim().slice(0, 40));
  for (const row of document.querySelectorAll('.stacked tr')) {
    const cells = [...row.children].filter((cell) => cell.checkVisibility()).map((cell) => cell.getBoundingClientRect());
    for (const [index, { right, bottom }] of cells.entries())
      if (cells.slice(index + 1).some((other) => other.left < right - 1 && other.top < bottom - 1 && other.right > cells[index].left + 1 && other.bottom > cells[index].top + 1))
        faults.push('cells overlap in ' + row.textContent.trim().slice(0, 40));
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const text = texts.currentNode;
    range.selectNodeContents(text);
    if (range.getClientRects().length < 2) continue;
    for (const { 0: word, index } of text.data.matchAll(/(?<![^\\s-])[+(\\p{L}\\p{N}][^\\s-]*/gu)) {
      // A pattern is no word.
      if (word.length > (innerWidth > 1056 ? 24 : 12) || word.includes('[')) continue;
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1)
        faults.push(word + ' is broken in ' + text.parentElement.outerHTML.slice(0, 80));
    }
  }
  return faults.slice(0, 3);
})()`;

/** The faults of a page as it is, at every width, with all of its folded parts open. @param name of the page, for the faults */
export async function faultsOfWidth(page: Page, name: string): Promise<string[]> {
  const faults: string[] = [];
  await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    for (const fault of await page.evaluate<string[]>(FAULTS)) faults.push(`${name} at ${width}: ${fault}`);
  }
  return faults;
}
