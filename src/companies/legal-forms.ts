/**
 * Legal forms at the end of a name, in lower case and without marks and punctuation (docs/api.md: normalized name). The dotted
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

/** With the space before them; the longest first. */
const ENDINGS = LEGAL_FORMS.map((form) => ` ${form}`).sort((a, b) => b.length - a.length);

/**
 * Removes trailing legal forms, the longest that fits first, again and again, while a word stays in front of them
 * (docs/api.md: normalized name). Takes words joined by single spaces. It cuts the text once, so that a name of ten
 * thousand forms costs no more than its length.
 */
export function withoutLegalForms(words: string): string {
  let end = words.length;
  for (;;) {
    const ending = ENDINGS.find((form) => form.length < end && words.endsWith(form, end));
    if (ending === undefined) return words.slice(0, end);
    end -= ending.length;
  }
}
