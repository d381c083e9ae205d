import { Type } from '@sinclair/typebox';
import type { ApiRoute } from '../../http/api-route.ts';
import { permits } from '../../http/right.ts';
import { freeHandler, type Handler } from '../admission/quote.ts';
import { ACTIVITY, ActivityAnswerSchema, type ListedRow } from './activity-schema.ts';
import { type ActivityRow, printed, type ReadActivity } from './activity-store.ts';

/** GET /activity (docs/api.md: activity) */
export const activityRoute: ApiRoute = {
  path: '/activity',
  // Without the right `activity` a key gets its own rows alone.
  right: null,
  query: Type.Object({
    after: Type.Optional(
      ACTIVITY.Cursor(
        'The `next` of an earlier answer: the rows since then. Without it: from the oldest on that is kept.',
      ),
    ),
  }),
  invalid: '`after` is not the `next` of an earlier answer.',
  success: ActivityAnswerSchema,
  problems: ['validation', 'activity-expired'],
  charge: null,
  detail: {
    operationId: 'getActivity',
    summary: 'Follow your calls',
    pt: { summary: 'Seguir a atividade', cost: 'nenhum crédito' },
    description:
      "The account's calls that cost credits, gave some back, were a problem, or repeated an earlier one: oldest first, at most 1,000 rows, some seconds after the call. Go on with `next`: it repeats no row and misses no charge or return. The `credits` of a day (UTC, by `at`) that is kept as a whole add up to the credits of that day in the dashboard, key by key. Of many answers without a charge in a few seconds one row says how many more there were. A key with some permissions, but not `activity`, gets its own calls alone. Costs a rate-limit token and no credit.",
  },
};

/** Answers with the rows after a cursor. */
export function createActivityHandler({ readActivity }: { readActivity: ReadActivity }): Handler {
  return freeHandler('The activity could not be read.', async ({ caller }, { after: given }) => {
    const { accountId, keyId, only } = caller;
    const after = given === undefined ? null : ACTIVITY.read(String(given));
    if (given !== undefined && after === null) return ACTIVITY.noCursor();
    const page = await readActivity(accountId, after, permits(only, 'activity') ? null : keyId);
    return ACTIVITY.refusal(page, after) ?? ACTIVITY.answer(page, after, present);
  });
}

function present(row: ActivityRow): ListedRow {
  const { unlisted, ...members } = printed(row);
  return unlisted === null ? members : { ...members, unlisted };
}
