/**
 * Legal forms as they read at the end of a name after lower case, marks and punctuation are dealt with
 * (contract: normalized name). The dotted spellings (`S. A.`, `L.da`) come out as single letters with spaces.
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

/** The forms by their last character, the longest first: a name is compared with a handful, not with all. */
const formsByLastCode = new Map<number, string[]>();
for (const form of [...LEGAL_FORMS].sort((a, b) => b.length - a.length)) {
  const lastCode = form.charCodeAt(form.length - 1);
  const sameEnd = formsByLastCode.get(lastCode);
  if (sameEnd) sameEnd.push(form);
  else formsByLastCode.set(lastCode, [form]);
}

/**
 * Removes trailing legal forms, the longest that fits first, again and again, while something stays in front
 * (contract: normalized name). Takes words joined by single spaces; cuts once at the end, so a name of ten thousand
 * forms costs no more than its length.
 */
export function withoutLegalForms(words: string): string {
  let end = words.length;
  for (let cut = cutOnce(words, end); cut !== end; cut = cutOnce(words, end)) end = cut;
  return end === words.length ? words : words.slice(0, end);
}

/** Where the words end after one legal form is taken from their end, or `end` when none fits. */
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
