import { isMember } from '../../metering/account-data/export.ts';
import type { Actor } from '../../metering/accounts/events.ts';
import type { SignedInContext } from './context.ts';
import { actorOf, listMembers } from './members.ts';

/** Names the authors of changes of the account for its reader: a member by email, operators without a name. */
export async function actorNames(context: SignedInContext): Promise<(actor: Actor) => string> {
  const { messages, tools, account, user } = context;
  const members = await listMembers(tools.sql, account.id);
  const emails = new Map(members.map((member) => [actorOf(member), member.email]));
  return (actor) => {
    if (actor === actorOf(user)) return messages.byYou;
    return isMember(actor) ? (emails.get(actor) ?? messages.byMember) : messages.byOperator;
  };
}
