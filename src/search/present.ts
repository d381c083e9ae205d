const AFTER_NAME = '","status":"","locality":"","primary_cae":""}';

/**
 * A search entry (specification, Company search entry), as JSON.
 * @param nif nine digits
 * @param escapedName the legal name, escaped for a JSON string
 */
export function writeEntry(nif: string, escapedName: string): string {
  return `{"nif":"${nif}","legal_name":"${escapedName}${AFTER_NAME}`;
}

/** {@link writeEntry} for a name that is not JSON yet. */
export function writeNamedEntry(nif: string, legalName: string): string {
  return writeEntry(nif, JSON.stringify(legalName).slice(1, -1));
}

/** The body of a search's answer. `join` copies, so that a cached answer does not keep the text that it was cut from. */
export function writeAnswer(entries: string[]): string {
  return `{"data":[${entries.join(',')}],"error":null}`;
}
