import { budgetMails } from './budget-mails.ts';
import { type DueMailParts, sendDueMails } from './due-mails.ts';
import { keyMails } from './key-mails.ts';
import { planMails } from './plan-mails.ts';
import { usageAlerts } from './usage-alerts.ts';

/** The mails that answer no request, by the names that the table of states gives them. */
export const DUE_MAILS = new Map<string, (parts: DueMailParts) => Promise<void>>([
  ['usage', (parts) => sendDueMails(parts, usageAlerts)],
  ['budgets', (parts) => sendDueMails(parts, budgetMails)],
  ['keys', (parts) => sendDueMails(parts, keyMails)],
  ['plan', (parts) => sendDueMails(parts, planMails)],
]);

/** Sends every one of them that is due. */
export async function sendAllDueMails(parts: DueMailParts): Promise<void> {
  for (const sendDue of DUE_MAILS.values()) await sendDue(parts);
}
