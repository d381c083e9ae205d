/**
 * Bounds the values of a message before the protocol's SDK reads it. The SDK's schemas take up to 4 µs a value, and their error lists each
 * one that is not valid: a message of 60 KB with 30,000 of them was answered with 7 MB.
 */
import { isObject } from '../platform/runtime/json.ts';

/** Members and items together. A handshake with six icons and every capability has 102. */
export const MAX_VALUES = 200;

/** Whether a message has too many values. Lists in the input of a tool don't count: the tool bounds them, and the SDK doesn't read them. */
export function isTooWide(message: unknown): boolean {
  const input = isObject(message) && isObject(message.params) ? message.params.arguments : undefined;
  let left = MAX_VALUES;
  const count = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const inner = Object.values(value);
    left -= inner.length;
    if (left < 0) return;
    for (const one of inner) if (value !== input || !Array.isArray(one)) count(one);
  };
  count(message);
  return left < 0;
}
