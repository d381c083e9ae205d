import { type Actor, isMember } from '../../metering/accounts/events.ts';
import type { MemberContext } from '../page-context.ts';
import { actorOf, listMembers } from './members.ts';

/** Names the authors of changes of the account for its reader: a member by email, operators without a name. */
export async function actorNames(context: MemberContext): Promise<(actor: Actor) => string> {
  const { messages, tools, account, user } = context;
  const members = await listMembers(tools.sql, account.id);
  const emails = new Map(members.map((member) => [actorOf(member), member.email]));
  return (actor) => {
    if (actor === actorOf(user)) return messages.byYou;
    return isMember(actor) ? (emails.get(actor) ?? messages.byMember) : messages.byOperator;
  };
}
