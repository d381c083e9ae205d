import type { Messages } from '../ui/messages.ts';
import list from './common-passwords.txt' with { type: 'text' };

/** Characters that a new password has. A sign-in takes shorter ones: earlier versions did. */
export const PASSWORD = { min: 12, max: 128 };

/**
 * Passwords of at least 12 characters that guessers try first, in lower case: the first of SecLists' ten million (MIT),
 * Django's list (BSD) and zxcvbn's (MIT). {@link isCommon} covers those that repeat themselves.
 */
const COMMON = new Set(list.trim().split('\n'));

/** `aaaaaaaaaaaa`, `123123123123`, `qwertyqwerty`. */
const REPEATS = /^(.{1,8}?)\1+$/su;

/**
 * Why a new password is refused, in the visitor's language; null when it is not. Passwords that were chosen under earlier
 * rules go on working.
 */
export function passwordRefusal(messages: Messages, password: string): string | null {
  if (password.length < PASSWORD.min || password.length > PASSWORD.max) {
    return messages.passwordInvalid(String(PASSWORD.min), String(PASSWORD.max));
  }
  return isCommon(password) ? messages.passwordCommon : null;
}

function isCommon(password: string): boolean {
  const lower = password.toLowerCase();
  return COMMON.has(lower) || REPEATS.test(lower);
}
