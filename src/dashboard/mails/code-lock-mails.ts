import type { Due, MailKind } from './due-mails.ts';

interface CodeLock extends Due {
  until: Date;
}

/** Mails to a user whose codes of the second factor are locked, because somebody who knows the password guesses them. */
export const codeLockMails: MailKind<CodeLock, 'code-lock'> = {
  name: 'code-lock',
  due: (sql) => sql`
    SELECT account_id AS "accountId", user_id AS only, 'code lock' AS topic,
      extract(epoch FROM "lockedUntil")::text AS occasion, "lockedUntil" AS until
    FROM dashboard_second_factors JOIN dashboard_members ON user_id = "userId"
    WHERE "lockedUntil" > now()`,
  sharedBy: ({ topic }) => topic,
  valuesOf: ([{ until }], { publicUrl }) => ({ until, url: `${publicUrl}/dashboard/forgot` }),
};
