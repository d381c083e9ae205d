/** Every API key begins with it. Secret scanners recognize it (specification, API key). */
export const KEY_PREFIX = 'svc_';

/** Characters of a key that are stored in clear, for recognition: the prefix and six more. */
const START_LENGTH = KEY_PREFIX.length + 6;
/** A key, or a large part of one. */
const LIKELY_SECRET = /svc_[A-Za-z0-9]{16,}/g;
/** The same, or a key without its prefix. */
const HOLDS_SECRET = /svc_[A-Za-z0-9]{16,}|[a-z2-7]{40}/;

/** The start of a key, by which its owner recognizes it in a list. */
export function secretStart(secret: string): string {
  return secret.slice(0, START_LENGTH);
}

/** The text with every key in it cut to its start. For messages that repeat what was typed and may end up in logs. */
export function withoutSecrets(text: string): string {
  return text.replace(LIKELY_SECRET, (secret) => `${secretStart(secret)}…`);
}

/** Whether a text that will be logged may hold a key. Hexadecimal digests of 40 digits and more hardly ever look like one. */
export function mayHoldSecret(text: string): boolean {
  return HOLDS_SECRET.test(text);
}
