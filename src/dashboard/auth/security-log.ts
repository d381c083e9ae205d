import type { MemberContext, PageContext } from '../context.ts';

/** Events that show how an account was broken into (ASVS 7.1.3, 7.2.1). */
export type SecurityEvent =
  | 'sign-in'
  /** The password was right, and the code of the second factor is awaited. */
  | 'sign-in code asked'
  | 'sign-out'
  | 'sign-up'
  /** A guess was wrong, or was not checked because too many had failed. */
  | `${'sign-in' | 'sign-in code' | 'password check'} ${'failed' | 'refused'}`
  | 'code check failed'
  | 'password changed'
  | 'password reset'
  | `second factor turned ${'on' | 'off'}`
  | 'backup codes renewed'
  | 'invitation accepted'
  | 'email change asked'
  | 'email changed'
  | `member ${'invited' | 'removed'}`
  | 'role changed'
  | 'other sessions ended'
  | 'agent connected'
  | 'account deleted';

/** Written into each line, because a line holds an address (docs/data-protection.md). */
const KEEP_DAYS = 30;

/** Logs an event with the visitor's address. It never holds an email, a password or a token. */
export function logSecurity(
  { tools, client, trace }: PageContext,
  event: SecurityEvent,
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
export function logOfMember(context: MemberContext, event: SecurityEvent): void {
  logSecurity(context, event, { userId: context.user.id, accountId: context.account.id });
}
