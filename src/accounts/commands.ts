import type { Command } from 'commander';
import { MAX_REQUESTS_PER_MINUTE } from '../rate-limit/bucket.ts';
import { defineCommand } from '../terminal/command.ts';
import { fields, printable, table } from '../terminal/text.ts';
import { instant, name, oneOf, wholeNumber } from '../terminal/values.ts';
import { changeLimits, changePlan, setSuspended } from './changes.ts';
import { grantCredits, MAX_BALANCE } from './grant.ts';
import type { Plan, Subscription } from './plan.ts';
import {
  type AccountDetails,
  type AccountFilter,
  createAccount,
  emailsOf,
  listAccounts,
  requireAccount,
} from './store.ts';

const readPlan = oneOf<Plan>('free', 'plus');

/** `account …` (contract, Command line). */
export function accountCommands(program: Command): void {
  const account = program.command('account').description('accounts, their plans, limits and credits');
  createCommand(account);
  listCommand(account);
  showCommand(account);
  planCommand(account);
  limitsCommand(account);
  creditsCommand(account);
  suspensionCommand(
    account,
    'suspend',
    true,
    "answer 401 to the account's keys, and end its members' sessions",
  );
  suspensionCommand(account, 'resume', false, "let the account's keys work again");
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

function createCommand(account: Command): void {
  const command = withSubscription(
    account
      .command('create')
      .description('create an account')
      .requiredOption('--name <name>', 'whose it is', name)
      .option('--plan <plan>', 'free or plus', readPlan, 'free'),
  ).addHelpText('after', '\nExample:\n  bun directory account create --name "Example Lda" --plan plus');
  defineCommand(
    command,
    ({ sql, actor }, options: { name: string; plan: Plan } & Subscription) =>
      createAccount(sql, options, actor),
    ({ id, name, plan }) =>
      `created ${id} (${printable(name)}, ${plan}); next: bun directory key create ${id}`,
  );
}

function listCommand(account: Command): void {
  const command = account
    .command('list')
    .option('--email <address>', 'only the account that this address signs in to')
    .option(
      '--above <percent>',
      'only accounts that have used at least this share of their allowance',
      wholeNumber({ min: 0, max: 1_000_000 }),
    )
    .description('all accounts');
  defineCommand(
    command.addHelpText('after', '\nExample:\n  bun directory account list --above 80'),
    ({ sql }, filter: AccountFilter) => listAccounts(sql, filter),
    (accounts) =>
      table([
        ['ID', 'NAME', 'PLAN', 'CREDITS', 'SUSPENDED', 'EMAILS'],
        ...accounts.map((row) => [
          row.id,
          row.name,
          row.plan,
          String(row.credits),
          row.suspended ? 'yes' : 'no',
          row.emails.join(' '),
        ]),
      ]),
  );
}

function showCommand(account: Command): void {
  const command = account.command('show').argument('<id>').description('an account as it stands now');
  defineCommand(
    command.addHelpText('after', '\nExample:\n  bun directory account show acc_…'),
    async ({ sql }, id: string) => ({
      ...presentAccount(await requireAccount(sql, id)),
      emails: await emailsOf(sql, id),
    }),
    ({ period, emails, ...members }) =>
      fields({
        ...members,
        emails: emails.join(' '),
        'period start': period.start,
        'period end': period.end,
      }),
  );
}

function presentAccount(account: AccountDetails) {
  const { id, name, plan, credits, used, keys, suspended } = account;
  const { requestsPerMinute, includedCredits, spendPurchased } = account;
  const period = presentPeriod(account);
  const limits = { requestsPerMinute, includedCredits, spendPurchased };
  return { id, name, plan, period, credits, used, keys, ...limits, suspended };
}

function presentPeriod({ period }: AccountDetails) {
  return { start: period.start.toISOString(), end: period.end.toISOString() };
}

function planCommand(account: Command): void {
  const command = withSubscription(
    account
      .command('plan')
      .argument('<id>')
      .argument('<plan>', 'free or plus', readPlan)
      .description('move an account to a plan: a new period opens now, with nothing used'),
  ).addHelpText('after', '\nExample:\n  bun directory account plan acc_… plus --until 2027-01-01T00:00:00Z');
  defineCommand(
    command,
    async ({ sql, actor }, id: string, plan: Plan, subscription: Subscription) => {
      const account = await changePlan(sql, id, plan, subscription, actor);
      return { id, plan: account.plan, period: presentPeriod(account) };
    },
    ({ id, plan, period }) => `${id} is ${plan}, its period from ${period.start} to ${period.end}`,
  );
}

function limitsCommand(account: Command): void {
  // A word rather than null: commander turns a parsed null into ''.
  const orPlan = (read: (text: string) => number) => (text: string) => (text === 'plan' ? text : read(text));
  const requests = wholeNumber({ min: 1, max: MAX_REQUESTS_PER_MINUTE });
  const credits = wholeNumber({ min: 0, max: MAX_BALANCE });
  const command = account
    .command('limits')
    .argument('<id>')
    .option(
      '--requests-per-minute <n>',
      "a limit of the account's own, or `plan` for its plan's",
      orPlan(requests),
    )
    .option(
      '--included-credits <n>',
      "an allowance of the account's own, or `plan` for its plan's",
      orPlan(credits),
    )
    .option(
      '--spend-purchased <yes|no>',
      'whether purchased credits pay for calls beyond the allowance; no: such calls are refused',
      oneOf('yes', 'no'),
    )
    .description('give an account its own limits; without options: show them')
    .addHelpText('after', '\nExample:\n  bun directory account limits acc_… --requests-per-minute 6000');
  defineCommand(
    command,
    async ({ sql, actor }, id: string, given: GivenLimits) => {
      const change = {
        requestsPerMinute: ownLimit(given.requestsPerMinute),
        includedCredits: ownLimit(given.includedCredits),
        spendPurchased: given.spendPurchased === undefined ? undefined : given.spendPurchased === 'yes',
      };
      return { id, ...(await changeLimits(sql, id, change, actor)) };
    },
    fields,
  );
}

type GivenLimits = {
  requestsPerMinute?: number | 'plan';
  includedCredits?: number | 'plan';
  spendPurchased?: 'yes' | 'no';
};

/** `null` means the plan's limit, `undefined` no change. */
function ownLimit(given: number | 'plan' | undefined): number | null | undefined {
  return given === 'plan' ? null : given;
}

function creditsCommand(account: Command): void {
  const command = account
    .command('credits')
    .argument('<id>')
    .requiredOption('--add <n>', 'purchased credits to add', wholeNumber({ min: 1, max: MAX_BALANCE }))
    .option('--note <text>', 'why; the customer sees it in the dashboard')
    .option('--reference <ref>', 'of the sale, say: the same reference adds once', name)
    .description('add purchased credits')
    .addHelpText(
      'after',
      '\nExample:\n  bun directory account credits acc_… --add 1000 --reference invoice-17',
    );
  defineCommand(
    command,
    async ({ sql, actor }, id: string, options: { add: number; note?: string; reference?: string }) => {
      const { add: credits, note, reference } = options;
      return { id, credits: await grantCredits(sql, id, { credits, note, reference }, actor) };
    },
    ({ id, credits }) => `${id} has ${credits} purchased credits`,
  );
}

function suspensionCommand(account: Command, word: string, suspended: boolean, description: string): void {
  const command = account.command(word).argument('<id>').description(description);
  defineCommand(
    command.addHelpText('after', `\nExample:\n  bun directory account ${word} acc_…`),
    async ({ sql, actor }, id: string) => {
      await setSuspended(sql, id, suspended, actor);
      return { id, suspended };
    },
    ({ id }) => `${id} is ${suspended ? 'suspended' : 'not suspended'}`,
  );
}
