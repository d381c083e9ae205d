/** Words that differ by few letters. */

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const SEARCHED = /^[a-z]{4,16}$/;

/** Whether near words of a word are looked up: it has 4 to 16 letters from a to z. Few misspelt words are longer, and their edits many. */
export const hasNearWords = (word: string) => SEARCHED.test(word);

/** All words that differ by one edit: a letter wrong, missing or extra, or two neighbours swapped. About 53 for each letter. */
export function editsOf(word: string): Set<string> {
  const edits = new Set<string>();
  for (let at = 0; at <= word.length; at += 1) {
    const before = word.slice(0, at);
    const after = word.slice(at);
    if (after.length > 1) edits.add(before + after[1] + after[0] + after.slice(2));
    if (after !== '') edits.add(before + after.slice(1));
    for (const letter of LETTERS) {
      edits.add(before + letter + after);
      if (after !== '') edits.add(before + letter + after.slice(1));
    }
  }
  edits.delete(word);
  return edits;
}

/**
 * Whether at most `most` edits make one word the other: optimal string alignment, in which no letter is edited twice. It takes
 * time in proportion to the words, because only letters at most `most` places apart are compared.
 */
export function isWithinEdits(one: string, other: string, most: number): boolean {
  if (Math.abs(one.length - other.length) > most) return false;
  const width = 2 * most + 1;
  const far = most + 1;
  /** Distances of the beginnings, by how far their lengths differ. */
  let beforeLast: number[] = [];
  let last = Array.from({ length: width }, (_, column) => (column < most ? far : column - most));
  for (let i = 1; i <= one.length; i += 1) {
    const row: number[] = [];
    for (let column = 0; column < width; column += 1) {
      const j = i + column - most;
      if (j < 0 || j > other.length) {
        row.push(far);
        continue;
      }
      let distance = Math.min((last[column + 1] ?? far) + 1, (row[column - 1] ?? far) + 1);
      if (j > 0) {
        distance = Math.min(distance, last[column]! + (one[i - 1] === other[j - 1] ? 0 : 1));
        const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
        if (isSwapped) distance = Math.min(distance, beforeLast[column]! + 1);
      }
      row.push(Math.min(distance, far));
    }
    if (Math.min(...row) === far) return false;
    beforeLast = last;
    last = row;
  }
  return last[most + other.length - one.length]! <= most;
}
