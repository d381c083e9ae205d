import { type Command, InvalidArgumentError, Option } from 'commander';
import { RIGHTS, type Right } from '../../http/right.ts';
import { inPages } from '../../platform/postgres/batches.ts';
import { defineCommand } from '../../platform/terminal/command.ts';
import { defineList } from '../../platform/terminal/list-command.ts';
import { fields } from '../../platform/terminal/text.ts';
import { instant, name, orWord, wholeNumber } from '../../platform/terminal/values.ts';
import { iso } from '../accounts/plan.ts';
import { MAX_REQUESTS_PER_MINUTE } from '../rate-limit/bucket.ts';
import { expireKey } from './expire.ts';
import { requireKeyDetails } from './key-details.ts';
import { type ApiKey, createKey, listKeys, revokeKey } from './key-store.ts';
import { limitKey } from './limit-key.ts';
import { BUDGET_PERIODS, type BudgetPeriod, inOrder, MAX_BUDGET, type UsedBudget } from './limits.ts';
import { OVERLAP_S, rotateKey } from './rotate.ts';
import { generateSecret } from './secret.ts';

interface LimitOptions {
  credits?: number | 'none';
  per?: BudgetPeriod;
  only?: Right[] | 'all';
  requestsPerMinute?: number | 'none';
}

/** Adds the options of limits. */
const withLimits = (command: Command): Command =>
  command
    .option(
      '--credits <n>',
      'the most credits that it spends in a window, or none: no bound',
      orWord('none', wholeNumber({ min: 0, max: MAX_BUDGET })),
    )
    .addOption(
      new Option('--per <window>', 'of UTC, by Postgres’s clock; ever has no end').choices(BUDGET_PERIODS),
    )
    .option('--only <rights>', `what it may do, of ${RIGHTS.join(', ')}, or all`, orWord('all', rights))
    .option(
      '--requests-per-minute <n>',
      'its share of the account’s requests a minute, or none: all of them',
      orWord('none', wholeNumber({ min: 1, max: MAX_REQUESTS_PER_MINUTE })),
    );

/** The limits of a command's options; `undefined` means that one was not given. */
function limitsOf(command: Command, { credits, per, only, requestsPerMinute }: LimitOptions) {
  const isBudget = typeof credits === 'number';
  if (isBudget !== (per !== undefined)) command.error('error: give --credits N and --per day, month or ever');
  return {
    budget: isBudget ? { credits, per: per! } : credits === 'none' ? null : undefined,
    only: only === 'all' ? null : only,
    requests_per_minute: requestsPerMinute === 'none' ? null : requestsPerMinute,
  };
}

/** Reads an option's rights, as `lookup,debts`. */
function rights(text: string): Right[] {
  const named = text.split(',').map((right) => right.trim());
  if (named.every((right) => RIGHTS.includes(right as Right))) return inOrder(named as Right[]);
  throw new InvalidArgumentError(`It must be some of ${RIGHTS.join(', ')}, with commas between them.`);
}

const describeBudget = (budget: UsedBudget | null): string => {
  if (budget === null) return 'no budget';
  const { credits, per, used, resets } = budget;
  return `${used} of ${credits} credits spent ${per === 'ever' ? 'for good' : `until ${resets}`}`;
};

const describeShare = (perMinute: number | null): string =>
  perMinute === null ? 'the account’s' : `at most ${perMinute} requests a minute`;

const describeRights = (only: Right[] | null): string => only?.join(', ') ?? 'all';

const countsOf = (counts: object): string =>
  Object.entries(counts)
    .map(([kind, count]) => `${kind}: ${count}`)
    .join(', ');

/** `key …` (docs/commands.md). */
export function keyCommands(program: Command): void {
  const key = program.command('key').description('API keys');

  const create = key.command('create');
  defineCommand(
    withLimits(
      create
        .argument('<account>')
        .option('--name <name>', 'purpose of the key', name, '')
        .option('--test', 'a test key: it answers from a fixed world of invented companies, for nothing')
        .option('--expires <instant>', 'refuse the key from then on (default: never)', instant),
    )
      .description('create a key: its secret is shown now and never again')
      .addHelpText('after', '\nExample:\n  bun directory key create acc_… --name production'),
    '{id, secret, test?}',
    async (
      { sql, actor },
      account: string,
      options: LimitOptions & { name: string; expires?: Date; test?: boolean },
    ) => {
      const { name, expires = null, test = false } = options;
      const secret = generateSecret(undefined, test);
      const limits = limitsOf(create, options);
      const key = await createKey(sql, account, name, actor, expires, secret, limits);
      return { ...key, ...(test && { test }) };
    },
    ({ id, secret, test }) =>
      `${secret}\n\nThis is ${test ? 'test ' : ''}key ${id}. Keep the secret now: it can't be shown again.`,
  );

  defineCommand(
    key
      .command('rotate')
      .argument('<id>')
      .option(
        '--overlap <seconds>',
        `how long the previous secret still works, at most ${OVERLAP_S.max}; 0 means that it ends at once`,
        wholeNumber({ min: 0, max: OVERLAP_S.max }),
        OVERLAP_S.default,
      )
      .description('give a key a new secret, shown now and never again: its id, name and expiry stay')
      .addHelpText('after', '\nExample:\n  bun directory key rotate key_… --overlap 3600'),
    '{id, secret, previousUntil}',
    ({ sql, actor }, id: string, { overlap }: { overlap: number }) => rotateKey(sql, id, overlap, actor),
    ({ id, secret, previousUntil }) =>
      `${secret}\n\nThis is the new secret of ${id}. Keep it now: it can't be shown again. The previous one works until ${iso(previousUntil)}.`,
  );

  defineList<ApiKey>(
    key
      .command('list')
      .argument('<account>')
      .description("an account's keys, revoked ones too")
      .addHelpText(
        'after',
        `
When a customer writes about a key, "start" finds it by its first letters, which are no secret.

Example:
  bun directory key list acc_…`,
      ),
    `[{id, name, test, connection, start, created, revoked, expires, previousUntil, budget, only,
requests_per_minute}]`,
    ({ sql }, account: string) => inPages<ApiKey>((last) => listKeys(sql, account, last)),
    [
      ['ID', ({ id }) => id],
      ['NAME', ({ name }) => name],
      ['KIND', kindOf],
      ['START', ({ start }) => `${start}…`],
      ['CREATED', ({ created }) => iso(created)!],
      ['REVOKED', ({ revoked }) => iso(revoked) ?? '–'],
      ['EXPIRES', ({ expires }) => iso(expires) ?? '–'],
      ['PREVIOUS SECRET UNTIL', ({ previousUntil }) => iso(previousUntil) ?? '–'],
      ['BUDGET', ({ budget }) => (budget === null ? '–' : describeBudget(budget))],
      ['ONLY', ({ only }) => only?.join(', ') ?? '–'],
      ['REQUESTS A MINUTE', ({ requests_per_minute }) => String(requests_per_minute ?? '–')],
    ],
  );

  const limit = key.command('limit');
  defineCommand(
    withLimits(limit.argument('<id>'))
      .description('change what a key may spend and do: a budget counts what was spent in its window')
      .addHelpText(
        'after',
        '\nWhen a customer writes that a key is refused for its budget, its rights or its requests a minute, this changes them.\n\nExample:\n  bun directory key limit key_… --credits 50 --per day --only lookup',
      ),
    `{id, budget, only, requests_per_minute}
It wants at least one of the options.`,
    async ({ sql, actor }, id: string, options: LimitOptions) => {
      const limits = limitsOf(limit, options);
      if (Object.values(limits).every((given) => given === undefined))
        limit.error('error: give --credits, --only or --requests-per-minute');
      return limitKey(sql, id, limits, actor);
    },
    ({ id, budget, only, requests_per_minute }) =>
      `${id}: ${describeBudget(budget)}, rights: ${describeRights(only)}, rate: ${describeShare(requests_per_minute)}`,
  );

  const expire = key
    .command('expire')
    .argument('<id>')
    .option('--at <instant>', 'refuse the key from then on', instant)
    .option('--never', 'the key does not expire')
    .description('change the end of a key, or give an expired key a new one')
    .addHelpText('after', '\nExample:\n  bun directory key expire key_… --at 2027-01-31T00:00:00Z');
  defineCommand(
    expire,
    `{id, expires}
It wants one of the options. An expired key gets a new end if the plan has room.`,
    async ({ sql, actor }, id: string, { at, never }: { at?: Date; never?: boolean }) => {
      if ((at === undefined) === (never === undefined)) {
        expire.error('error: give either --at INSTANT or --never');
      }
      return expireKey(sql, id, at ?? null, actor);
    },
    ({ id, expires }) => (expires === null ? `${id} does not expire` : `${id} works until ${iso(expires)}`),
  );

  defineCommand(
    key
      .command('show')
      .argument('<id>')
      .description('a key with its calls, its errors, and the last use of each secret')
      .addHelpText(
        'after',
        `
When a customer writes "my key doesn't work": "revoked" and "expires" say if it has ended, "errors" which answers it got,
and "lastUsed" if the call arrived with it at all.

Example:
  bun directory key show key_…`,
      ),
    `{id, account, name, test, connection, start, created, revoked, expires, previousUntil, budget, only,
requests_per_minute, calls, errors, errorCredits, secrets: [{until, lastUsed}]}
Calls, errors by kind and what these cost are of the last 30 days (UTC). The current secret is first.`,
    ({ sql }, id: string) => requireKeyDetails(sql, id),
    ({ calls, errors, errorCredits, secrets, budget, only, requests_per_minute, ...key }) => {
      const { created, revoked, expires, previousUntil: _, ...members } = key;
      const [current, ...previous] = secrets;
      return fields({
        ...members,
        ...{ created: iso(created), revoked: iso(revoked), expires: iso(expires) },
        budget: describeBudget(budget),
        rights: describeRights(only),
        rate: describeShare(requests_per_minute),
        'calls, 30 days': countsOf(calls),
        'errors, 30 days': countsOf(errors) || '–',
        'cost of errors': `${errorCredits} credits`,
        'last used': iso(current!.lastUsed),
        ...Object.fromEntries(
          previous.map(({ until, lastUsed }, index) => [
            `previous secret ${index + 1}`,
            `last used ${iso(lastUsed) ?? '–'}, works until ${iso(until)}`,
          ]),
        ),
      });
    },
  );

  defineCommand(
    key
      .command('revoke')
      .argument('<id>')
      .description('revoke a key for good: in force on every instance within 5 seconds')
      .addHelpText('after', '\nExample:\n  bun directory key revoke key_…'),
    '{id, revoked}',
    ({ sql, actor }, id: string) => revokeKey(sql, id, actor),
    ({ id, revoked }) => `${id} is revoked since ${iso(revoked)}`,
  );
}

/** A test key is free, and a connection is an agent's that a member has signed in. */
const kindOf = ({ test, connection }: Pick<ApiKey, 'test' | 'connection'>) =>
  connection ? 'connection' : test ? 'test' : 'live';
