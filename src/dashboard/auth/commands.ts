import { type Command, InvalidArgumentError } from 'commander';
import { defaultPublicUrl } from '../../config.ts';

import { defineCommand, subcommand } from '../../terminal/command.ts';
import { printable } from '../../terminal/text.ts';
import { isEmail } from '../request/fields.ts';
import { invite } from './invitations.ts';

/** `account invite`: a one-time link to the dashboard, for accounts that no sign-up made, and where sign-up is closed. */
export function inviteCommand(program: Command): void {
  const command = subcommand(program, 'account', 'accounts, their plans, limits and credits')
    .command('invite')
    .argument('<id>')
    .requiredOption('--email <address>', 'who signs in with it', readEmail)
    .description(
      "print a one-time link: whoever opens it chooses a password for the account's dashboard (again, if they have one)",
    )
    .addHelpText(
      'after',
      '\nExample:\n  bun directory account invite acc_… --email maria@example.com\n\nThe link begins with PUBLIC_URL, works once, and for seven days.',
    );
  defineCommand(
    command,
    async ({ sql, config, actor }, id: string, { email: address }: { email: string }) => {
      const { token, email, expires } = await invite(sql, { accountId: id, email: address }, actor);
      const publicUrl = config.publicUrl ?? defaultPublicUrl(config.host, config.port);
      const link = `${publicUrl}/dashboard/invitation?token=${token}`;
      return { id, email, link, expires: expires.toISOString() };
    },
    ({ email, link, expires }) => `${link}\n\nFor ${printable(email)}, once, until ${expires}.`,
  );
}

function readEmail(text: string): string {
  if (isEmail(text.trim())) return text.trim();
  throw new InvalidArgumentError('It must be an email address.');
}
