import { type Actor, isClient, isMember } from '../../metering/accounts/events.ts';
import type { MemberContext } from '../context.ts';
import { actorOf, listMembers } from './members.ts';

/** Names the authors of changes of the account for its reader: a member by email, an agent's client by its host, operators without a name. */
export async function actorNames(context: MemberContext): Promise<(actor: Actor) => string> {
  const { messages, tools, account, user } = context;
  const members = await listMembers(tools.sql, account.id);
  const emails = new Map(members.map((member) => [actorOf(member), member.email]));
  return (actor) => {
    if (actor === actorOf(user)) return messages.byYou;
    if (isClient(actor)) return actor.replace('client:', '');
    return isMember(actor) ? (emails.get(actor) ?? messages.byMember) : messages.byOperator;
  };
}
