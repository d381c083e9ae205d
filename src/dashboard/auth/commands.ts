import { type Command, InvalidArgumentError } from 'commander';
import { iso } from '../../accounts/plan.ts';
import { requireAccount } from '../../accounts/store.ts';
import { defaultPublicUrl } from '../../config/config.ts';
import { RefusedError } from '../../errors.ts';
import { defineCommand, subcommand } from '../../terminal/command.ts';
import { printable, textTable } from '../../terminal/text.ts';
import { isEmail } from '../request/form.ts';
import { invite } from './invitations.ts';
import { listMembers, removeMember } from './members.ts';

/** `account invite`, `account members` and `account remove-member` (contract, Command line). */
export function memberCommands(program: Command): void {
  const account = subcommand(program, 'account', 'accounts, their plans, limits and credits');
  const inviteCommand = account
    .command('invite')
    .argument('<id>')
    .requiredOption('--email <address>', 'who signs in with it', readEmail)
    .description(
      "print a one-time link to choose a password for the account's dashboard (a new one, for an existing member)",
    )
    .addHelpText(
      'after',
      '\nExample:\n  bun directory account invite acc_… --email maria@example.com\n\nThe link begins with PUBLIC_URL, works once, and for seven days.',
    );
  defineCommand(
    inviteCommand,
    async ({ sql, config, actor }, id: string, { email: address }: { email: string }) => {
      const { token, email, expires } = await invite(sql, { accountId: id, email: address }, actor);
      const publicUrl = config.publicUrl ?? defaultPublicUrl(config.host, config.port);
      const link = `${publicUrl}/dashboard/invitation?token=${token}`;
      return { id, email, link, expires };
    },
    ({ email, link, expires }) => `${link}\n\nFor ${printable(email)}, once, until ${iso(expires)}.`,
  );

  defineCommand(
    account
      .command('members')
      .argument('<id>')
      .description('who signs in to an account, since when, and when they last did')
      .addHelpText('after', '\nExample:\n  bun directory account members acc_…'),
    async ({ sql }, id: string) => {
      await requireAccount(sql, id);
      const members = await listMembers(sql, id);
      return members.map(({ id: _, ...member }) => member);
    },
    (members) =>
      textTable([
        ['EMAIL', 'NAME', 'SINCE', 'LAST SIGN-IN'],
        ...members.map(({ email, name, since, lastSignIn }) => [
          email,
          name,
          iso(since)!,
          iso(lastSignIn) ?? '–',
        ]),
      ]),
  );

  defineCommand(
    account
      .command('remove-member')
      .argument('<id>')
      .requiredOption('--email <address>', 'who is removed', readEmail)
      .description('remove a member with their sessions and password; the only one stays')
      .addHelpText(
        'after',
        '\nExample:\n  bun directory account remove-member acc_… --email maria@example.com\n\nKeys go on working: see `key revoke`.',
      ),
    async ({ sql, actor }, id: string, { email: address }: { email: string }) => {
      const email = address.toLowerCase();
      const removed = await removeMember(sql, id, (member) => member.email === email, actor);
      if (removed === null) throw new RefusedError(`${email} is no member of ${id}: see \`account members\``);
      if (removed === 'last') {
        throw new RefusedError(
          `${email} is the only member: invite another first, or see \`account delete\``,
        );
      }
      return { id, email, removed: true };
    },
    ({ id, email }) => `${printable(email)} is no member of ${id} any more`,
  );
}

function readEmail(text: string): string {
  if (isEmail(text.trim())) return text.trim();
  throw new InvalidArgumentError('It must be an email address.');
}
