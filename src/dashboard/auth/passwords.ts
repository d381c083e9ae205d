import type { Messages } from '../ui/messages.ts';
import list from './common-passwords.txt' with { type: 'text' };

/** Characters of a new password. A sign-in takes shorter ones, because earlier versions allowed them. */
export const PASSWORD = { min: 12, max: 128 };

/**
 * Passwords of at least 12 characters that attackers guess first, in lower case: from SecLists' ten million (MIT), Django's
 * list (BSD) and zxcvbn's (MIT). {@link REPEATS} covers repeated texts.
 */
const COMMON = new Set(list.trim().split('\n'));

/** `aaaaaaaaaaaa`, `123123123123`, `qwertyqwerty`. */
const REPEATS = /^(.{1,8}?)\1+$/su;

/**
 * Why a new password is refused, in the page's language; `null` means that it is not. Passwords that were chosen under
 * earlier rules go on working.
 */
export function passwordRefusal(messages: Messages, password: string): string | null {
  if (password.length < PASSWORD.min || password.length > PASSWORD.max) {
    return messages.passwordInvalid(String(PASSWORD.min), String(PASSWORD.max));
  }
  const lower = password.toLowerCase();
  return COMMON.has(lower) || REPEATS.test(lower) ? messages.passwordCommon : null;
}
