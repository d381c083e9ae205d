import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { inPages } from '../../platform/postgres/batches.ts';
import { defineCommand } from '../../platform/terminal/command.ts';
import { defineList } from '../../platform/terminal/list-command.ts';
import { fields, printable } from '../../platform/terminal/text.ts';
import { instant, name, orWord, wholeNumber } from '../../platform/terminal/values.ts';
import { MAX_REQUESTS_PER_MINUTE } from '../rate-limit/bucket.ts';
import {
  type AccountFilter,
  createAccount,
  emailsOf,
  type ListedAccount,
  listAccounts,
  requireAccount,
} from './account-store.ts';
import { changeLimits, changePlan } from './changes.ts';
import { grantCredits, MAX_BALANCE } from './grant.ts';
import { iso, type Plan, type Subscription } from './plan.ts';

const PLANS: Plan[] = ['free', 'plus'];

/** `account …` (docs/commands.md). */
export function accountCommands(program: Command): void {
  const account = program.command('account').description('accounts, their plans, limits and credits');

  defineCommand(
    withSubscription(
      account
        .command('create')
        .requiredOption('--name <name>', 'name of the customer', name)
        .addOption(new Option('--plan <plan>', 'of the account').choices(PLANS).default('free')),
    )
      .description('create an account')
      .addHelpText('after', '\nExample:\n  bun directory account create --name "Example Lda" --plan plus'),
    '{id, name, plan}',
    ({ sql, actor }, options: { name: string; plan: Plan } & Subscription) =>
      createAccount(sql, options, actor),
    ({ id, name, plan }) =>
      `created ${id} (${printable(name)}, ${plan}); next: bun directory key create ${id}`,
  );

  defineList<ListedAccount>(
    account
      .command('list')
      .option('--email <address>', 'only the account that this address signs in to')
      .option(
        '--above <percent>',
        'only accounts that have used at least this share of their allowance',
        wholeNumber({ min: 0, max: 1_000_000 }),
      )
      .description('all accounts')
      .addHelpText(
        'after',
        `
When a customer writes, --email finds the account by the address of any of its members.

Examples:
  bun directory account list --email maria@example.com
  bun directory account list --above 80`,
      ),
    '[{id, name, plan, credits, suspended, emails}]',
    ({ sql }, filter: AccountFilter) => inPages<ListedAccount>((last) => listAccounts(sql, filter, last)),
    [
      ['ID', ({ id }) => id],
      ['NAME', ({ name }) => name],
      ['PLAN', ({ plan }) => plan],
      ['CREDITS', ({ credits }) => String(credits)],
      ['SUSPENDED', ({ suspended }) => (suspended ? 'yes' : 'no')],
      ['EMAILS', ({ emails }) => emails.join(' ')],
    ],
  );

  defineCommand(
    account
      .command('show')
      .argument('<id>')
      .description('an account as it stands now')
      .addHelpText(
        'after',
        `
When a customer writes "my key doesn't work": "suspended" stops every key of the account, and without credits calls are
refused: "used" of "includedCredits" in this period, and purchased "credits".

Example:
  bun directory account show acc_…`,
      ),
    `{id, name, plan, period: {start, end}, credits, used, keys, requestsPerMinute,
includedCredits, spendPurchased, suspended, emails}`,
    async ({ sql }, id: string) => {
      const { planUntil: _, keyLimit: __, usedPurchased: ___, ...shown } = await requireAccount(sql, id);
      return { ...shown, emails: await emailsOf(sql, id) };
    },
    ({ period, emails, ...members }) =>
      fields({
        ...members,
        emails: emails.join(' '),
        'period start': iso(period.start),
        'period end': iso(period.end),
      }),
  );

  defineCommand(
    withSubscription(account.command('plan'))
      .argument('<id>')
      .addArgument(new Argument('<plan>', 'the new one').choices(PLANS))
      .description('move an account to a plan: a new period opens now, with nothing used')
      .addHelpText(
        'after',
        '\nExample:\n  bun directory account plan acc_… plus --until 2027-01-01T00:00:00Z',
      ),
    '{id, plan, period: {start, end}}',
    async ({ sql, actor }, id: string, to: Plan, subscription: Subscription) => {
      const { plan, period } = await changePlan(sql, id, to, subscription, actor);
      return { id, plan, period };
    },
    ({ id, plan, period }) => `${id} is ${plan}, its period from ${iso(period.start)} to ${iso(period.end)}`,
  );

  defineCommand(
    account
      .command('limits')
      .argument('<id>')
      .option(
        '--requests-per-minute <n>',
        "a limit of the account's own, or `plan` for its plan's",
        orWord('plan', wholeNumber({ min: 1, max: MAX_REQUESTS_PER_MINUTE })),
      )
      .option(
        '--included-credits <n>',
        "an allowance of the account's own, or `plan` for its plan's",
        orWord('plan', wholeNumber({ min: 0, max: MAX_BALANCE })),
      )
      .addOption(
        new Option(
          '--spend-purchased <answer>',
          'whether purchased credits pay for calls beyond the allowance; no: such calls are refused',
        ).choices(['yes', 'no']),
      )
      .description('give an account its own limits; without options: show them')
      .addHelpText('after', '\nExample:\n  bun directory account limits acc_… --requests-per-minute 6000'),
    '{id, requestsPerMinute, includedCredits, spendPurchased}',
    async ({ sql, actor }, id: string, given: GivenLimits) => {
      const { requestsPerMinute, includedCredits, spendPurchased } = given;
      const change = {
        requestsPerMinute: requestsPerMinute === 'plan' ? null : requestsPerMinute,
        includedCredits: includedCredits === 'plan' ? null : includedCredits,
        spendPurchased: spendPurchased && spendPurchased === 'yes',
      };
      return { id, ...(await changeLimits(sql, id, change, actor)) };
    },
    fields,
  );

  defineCommand(
    account
      .command('credits')
      .argument('<id>')
      .requiredOption(
        '--add <n>',
        'purchased credits to add; with a minus, unspent ones to take back',
        creditChange,
      )
      .option('--note <text>', 'why; the customer sees it in the dashboard')
      .option('--reference <ref>', 'of the sale, say: the same reference adds once', name)
      .description('add purchased credits, or take unspent ones back')
      .addHelpText(
        'after',
        `
When a customer writes "I was charged twice", and the calls show it, add credits in their place.

Examples:
  bun directory account credits acc_… --add 1000 --reference invoice-17
  bun directory account credits acc_… --add 3 --note "three calls of 12 November, charged twice"
  bun directory account credits acc_… --add -900 --note "1000 was a typing error"`,
      ),
    `{id, credits}
If fewer unspent credits are left than a minus takes back, it is refused.`,
    async ({ sql, actor }, id: string, options: { add: number; note?: string; reference?: string }) => {
      const { add: credits, note, reference } = options;
      return { id, credits: await grantCredits(sql, id, { credits, note, reference }, actor) };
    },
    ({ id, credits }) => `${id} has ${credits} purchased credits`,
  );
}

function withSubscription(command: Command): Command {
  return command
    .option('--period-start <instant>', 'Plus: count billing periods from here (default: now)', instant)
    .option(
      '--until <instant>',
      'Plus: the subscription lapses here, and the account is Free from then on',
      instant,
    );
}

function creditChange(text: string): number {
  const credits = wholeNumber({ min: -MAX_BALANCE, max: MAX_BALANCE })(text);
  if (credits === 0) throw new InvalidArgumentError('0 changes nothing.');
  return credits;
}

/** Limits as they were given; `plan` means the plan's. A word, because commander turns a parsed null into ''. */
type GivenLimits = {
  requestsPerMinute?: number | 'plan';
  includedCredits?: number | 'plan';
  spendPurchased?: 'yes' | 'no';
};
