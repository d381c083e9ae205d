import { MESSAGES, type Messages } from '../messages.ts';
import list from './common-passwords.txt' with { type: 'text' };

/** Characters of a new password. */
export const PASSWORD = { min: 12, max: 128 };

/**
 * Passwords of at least 12 characters that attackers guess first, in lower case: from SecLists' ten million (MIT), Django's
 * list (BSD) and zxcvbn's (MIT). {@link REPEATS} covers repeated texts.
 */
const COMMON = new Set(list.trim().split('\n'));

/** `aaaaaaaaaaaa`, `123123123123`, `qwertyqwerty`. */
const REPEATS = /^(.{1,8}?)\1+$/su;

/** Characters of a known text that a password may not hold. Shorter ones are in too many passwords by chance. */
const MIN_KNOWN_TEXT = 4;

/**
 * Why a new password is refused, in the page's language; `null` means that it is not.
 *
 * @param about texts that an attacker knows: the user's email and name, and the service's host. The brand is added here
 */
export function passwordRefusal(messages: Messages, password: string, about: string[]): string | null {
  if (password.length < PASSWORD.min || password.length > PASSWORD.max) {
    return messages.passwordInvalid(String(PASSWORD.min), String(PASSWORD.max));
  }
  const lower = password.toLowerCase();
  if (COMMON.has(lower) || REPEATS.test(lower)) return messages.passwordCommon;
  const brands = Object.values(MESSAGES).map(({ brand }) => brand);
  const texts = [...about, ...about.map((text) => text.replace(/@.*$/s, '')), ...brands].map(bare);
  const isIn = (part: string, whole: string) => part.length >= MIN_KNOWN_TEXT && whole.includes(part);
  const own = bare(password);
  return texts.some((text) => isIn(text, own) || isIn(own, text)) ? messages.passwordKnown : null;
}

/** Letters and digits, in lower case. */
const bare = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
