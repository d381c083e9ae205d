/**
 * Legal forms at the end of a name, in lower case and without marks and punctuation (contract: normalized name). The dotted
 * spellings (`S. A.`, `L.da`) have become single letters with spaces.
 */
export const LEGAL_FORMS: readonly string[] = [
  // Sociedade por quotas
  'lda',
  'l da',
  'ld a',
  'l d a',
  'limitada',
  // As social security abbreviates it.
  'ld',
  // Sociedade anónima
  'sa',
  's a',
  'sociedade anonima',
  // Sociedade unipessoal por quotas
  'unipessoal',
  'unip',
  'sociedade unipessoal',
  // Sociedade gestora de participações sociais
  'sgps',
  's g p s',
  // Sociedade anónima desportiva
  'sad',
  's a d',
  // Cooperativa de responsabilidade limitada
  'crl',
  'c r l',
  // Entidade pública empresarial
  'epe',
  'e p e',
  // Estabelecimento individual de responsabilidade limitada
  'eirl',
  'e i r l',
  // Agrupamento complementar de empresas
  'ace',
  'a c e',
  // Empresa municipal, entidade empresarial municipal, empresa intermunicipal
  'em',
  'e m',
  'eem',
  'e e m',
  'eim',
  'e i m',
];

/** The forms by their last character, the longest first, so that a name is compared with a few of them only. */
const formsByLastCode = new Map<number, string[]>();
for (const form of [...LEGAL_FORMS].sort((a, b) => b.length - a.length)) {
  const lastCode = form.charCodeAt(form.length - 1);
  const sameEnd = formsByLastCode.get(lastCode);
  if (sameEnd) sameEnd.push(form);
  else formsByLastCode.set(lastCode, [form]);
}

/**
 * Removes trailing legal forms, the longest that fits first, again and again, while a word stays in front of them
 * (contract: normalized name). Takes words joined by single spaces. It cuts the text once, so that a name of ten
 * thousand forms costs no more than its length.
 */
export function withoutLegalForms(words: string): string {
  let end = words.length;
  for (let cut = cutOnce(words, end); cut !== end; cut = cutOnce(words, end)) end = cut;
  return end === words.length ? words : words.slice(0, end);
}

/** The end of the words without their last legal form, or `end` when none fits. */
function cutOnce(words: string, end: number): number {
  const forms = formsByLastCode.get(words.charCodeAt(end - 1));
  if (forms === undefined) return end;
  for (const form of forms) {
    const spaceAt = end - form.length - 1;
    if (spaceAt > 0 && words.charCodeAt(spaceAt) === 0x20 && words.startsWith(form, spaceAt + 1))
      return spaceAt;
  }
  return end;
}
