import type { MemberContext, PageContext } from '../context.ts';

/** Written into each line, because a line holds an address (docs/data-protection.md). */
const KEEP_DAYS = 30;

/**
 * Logs an event that shows how an account was broken into (ASVS 7.1.3, 7.2.1), with the visitor's address. It never holds an email, a
 * password or a token.
 */
export function logSecurity(
  { tools, client, trace }: PageContext,
  event: string,
  member: { userId: string; accountId: string | null } | null,
): void {
  tools.log.info(
    {
      event,
      address: client.address,
      requestId: trace.requestId,
      ...(member !== null && { member: member.userId }),
      ...(member?.accountId != null && { account: member.accountId }),
      keepDays: KEEP_DAYS,
    },
    'security',
  );
}

/** Logs an event of a signed-in member. */
export function logOfMember(context: MemberContext, event: string): void {
  logSecurity(context, event, { userId: context.user.id, accountId: context.account.id });
}
