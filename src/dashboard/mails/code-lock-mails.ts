import type { Due, MailKind } from './due-mails.ts';

interface CodeLock extends Due {
  until: Date;
}

/** Mails to a user whose codes of the second factor are locked, because somebody who knows the password guesses them. */
export const codeLockMails: MailKind<CodeLock> = {
  about: 'security',
  due: (sql) => sql`
    SELECT account_id AS "accountId", user_id AS only, 'code lock' AS topic,
      extract(epoch FROM "lockedUntil")::text AS occasion, "lockedUntil" AS until
    FROM dashboard_second_factors JOIN dashboard_members ON user_id = "userId"
    WHERE "lockedUntil" > now()`,
  sharedBy: ({ topic }) => topic,
  write:
    ([{ until }], { publicUrl }) =>
    (messages, { instant }) => [
      messages.mailCodeLockSubject,
      messages.mailCodeLock(instant(until)),
      `${publicUrl}/dashboard/forgot`,
    ],
};
