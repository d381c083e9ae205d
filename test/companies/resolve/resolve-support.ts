import type { Evidence } from '../../../src/companies/resolve/evidence.ts';
import { heavyWords, type Resolution } from '../../../src/companies/resolve/resolve.ts';
import type { OracleAnswer } from './resolve-oracle.ts';

export const plainEvidence = ({ kind, text }: Evidence) =>
  kind === 'same' || kind === 'missing' ? kind : { [kind]: text };

/** A resolution in the form of the oracle. */
export function plain({ name, clear, candidates }: Resolution): OracleAnswer {
  return {
    clear,
    words: heavyWords(name),
    candidates: candidates.map(({ nif, missing, changed, extra, evidence }) => ({
      nif,
      missing,
      changed,
      extra,
      evidence: evidence.map(plainEvidence),
    })),
  };
}
