import { createUserSigner } from '../request/signed-user.ts';

/**
 * The tokens in links that reset a password: better-auth's, and its user, signed together. better-auth tells only whether its own
 * token is good, and the page needs the user before the form is sent.
 */
export function createResetLinks(secret: string) {
  const users = createUserSigner(secret, 'dashboard reset links');

  return {
    /** @param token better-auth's */
    link: (userId: string, token: string): string => `${token}.${users.sign(userId, [token])}`,

    /** @returns `null` if the link was not made here */
    read(link: string): { token: string; userId: string } | null {
      const end = link.indexOf('.');
      const [token, signed] = [link.slice(0, end), link.slice(end + 1)];
      const userId = users.claimed(signed);
      return users.isSigned(signed, userId, [token]) ? { token, userId } : null;
    },
  };
}
