/**
 * The activity of an account: a row for each charge, each return of credits, and each answer that was a problem, a refusal or a
 * repetition. The roll-up writes the first two with the counts of calls (src/metering/credits/activity.ts), `answers.ts` notes
 * the third, `store.ts` reads, and `purge.ts` removes old ones. Charges less returns of a UTC day that is kept are the calls of that day
 * (docs/api.md: activity).
 */
import type { Config } from '../../platform/config/config.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Cleanup } from '../../platform/runtime/shutdown.ts';
import { entryOf } from '../credits/activity.ts';
import { createAnswerNotes } from './answers.ts';
import { startActivityPurge } from './purge.ts';

/** What the stages of a request tell the activity: `entryOf`, and `note` of answers.ts. */
export type Activity = { entryOf: typeof entryOf } & Pick<ReturnType<typeof createAnswerNotes>, 'note'>;

/** None is kept (`ACTIVITY_DAYS=0`). */
export const NO_ACTIVITY: Activity = { entryOf: () => undefined, note() {} };

/** Opens the activity, and starts to write answers and to remove old days. */
export function openActivity(
  { activityDays }: Pick<Config, 'activityDays'>,
  sql: Sql,
  tasks: Cleanup,
  log: Log,
): Activity {
  startActivityPurge(sql, activityDays, tasks, log);
  if (activityDays === 0) return NO_ACTIVITY;
  const { note, start } = createAnswerNotes(sql);
  tasks.add('the notes of answers', start(log));
  return { entryOf, note };
}
