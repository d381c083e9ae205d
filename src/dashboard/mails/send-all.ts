import { codeLockMails } from './code-lock-mails.ts';
import { type DueMailParts, sendDueMails } from './due-mails.ts';
import { keyMails } from './key-mails.ts';
import { planMails } from './plan-mails.ts';
import { usageAlerts } from './usage-alerts.ts';

/** Sends every mail that is due and answers no request. */
export async function sendAllDueMails(parts: DueMailParts): Promise<void> {
  await sendDueMails(parts, codeLockMails);
  await sendDueMails(parts, usageAlerts);
  await sendDueMails(parts, keyMails);
  await sendDueMails(parts, planMails);
}
