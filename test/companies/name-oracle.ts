/**
 * The rules for names written a second time, as slowly and plainly as they read (docs/api.md: normalized name, order of results), to
 * check the fast ones against. Shares nothing with them.
 */

const FORMS = new Set(
  (
    'lda|l da|ld a|l d a|limitada|ld|sa|s a|sociedade anonima|unipessoal|unip|sociedade unipessoal|sgps|s g p s|' +
    'sad|s a d|crl|c r l|epe|e p e|eirl|e i r l|ace|a c e|em|e m|eem|e e m|eim|e i m'
  ).split('|'),
);

/** NFKD, marks removed, lower case; a lone surrogate is U+FFFD. */
export function oracleSortKey(name: string): string {
  let kept = '';
  for (const character of name.toWellFormed().normalize('NFKD')) {
    if (!/^\p{M}$/u.test(character)) kept += character;
  }
  return kept.toLowerCase();
}

/** The sort key's letters and digits in words, without the trailing legal forms. */
export function oracleNormalize(name: string): string {
  const words: string[] = [];
  let word = '';
  for (const character of oracleSortKey(name)) {
    if (/^[\p{L}\p{N}]$/u.test(character)) {
      word += character;
    } else if (word !== '') {
      words.push(word);
      word = '';
    }
  }
  if (word !== '') words.push(word);

  for (;;) {
    // At most four words make a form, and at least one word stays.
    const longest = [4, 3, 2, 1].find(
      (count) => count < words.length && FORMS.has(words.slice(-count).join(' ')),
    );
    if (longest === undefined) return words.join(' ');
    words.splice(-longest);
  }
}
