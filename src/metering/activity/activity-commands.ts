import type { Command } from 'commander';
import { inPages } from '../../platform/postgres/batches.ts';
import { existingCommand } from '../../platform/terminal/command.ts';
import { defineList } from '../../platform/terminal/list-command.ts';
import { instant } from '../../platform/terminal/values.ts';
import { requireAccount } from '../accounts/account-store.ts';
import { type ActivityFilter, type ActivityRow, listActivity, printed } from './activity-store.ts';

const ROWS_A_PAGE = 500;

type PrintedRow = ReturnType<typeof printed>;

/** `account activity` (docs/commands.md). */
export function activityCommands(program: Command): void {
  defineList<PrintedRow>(
    existingCommand(program, 'account')
      .command('activity')
      .argument('<id>')
      .option('--request <id>', 'only the calls with this X-Request-Id, or the call with this id')
      .option('--key <id>', 'only calls with this key')
      .option('--from <instant>', 'only calls from here on', instant)
      .description('calls that were charged, gave credits back, or were a problem, oldest first')
      .addHelpText(
        'after',
        `
When a customer writes "I was charged twice", --request finds the calls with the X-Request-Id of an answer.
A call's rows have the same CALL. Rows are kept for ACTIVITY_DAYS, and come some seconds after the call.
The table is sorted by AT, 500 rows at a time. --json has the order in which rows were stored, as GET /activity.

Examples:
  bun directory account activity acc_… --request order-17
  bun directory account activity acc_… --key key_… --from 2026-01-31T00:00:00Z --json`,
      ),
    `[{id, at, call, request, kind, key, endpoint, status, problem, reason, credits, unlisted}]
The row that was stored first is first, as in GET /activity.`,
    async function* ({ sql }, accountId: string, filter: Pick<ActivityFilter, 'request' | 'key' | 'from'>) {
      await requireAccount(sql, accountId);
      const pages = inPages<ActivityRow>((last) =>
        listActivity(sql, accountId, filter, { order: 'ASC', above: last?.number, rows: ROWS_A_PAGE }),
      );
      for await (const page of pages) yield page.map(printed);
    },
    [
      ['AT', ({ at }) => at],
      ['KIND', ({ kind }) => kind],
      ['CREDITS', ({ credits }) => String(credits)],
      ['ENDPOINT', ({ endpoint }) => endpoint ?? '–'],
      ['ANSWER', answerText],
      ['KEY', ({ key }) => key ?? '–'],
      ['REQUEST', ({ request }) => request ?? '–'],
      ['CALL', ({ call }) => call ?? '–'],
    ],
    (a, b) => a.at.localeCompare(b.at),
  );
}

function answerText({ status, problem, reason, unlisted }: PrintedRow): string {
  if (unlisted !== null) return `${unlisted} more`;
  return status === null ? '–' : [status, problem ?? 'repeated', reason].filter(Boolean).join(' ');
}
