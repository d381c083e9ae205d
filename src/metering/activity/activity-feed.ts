import { defineFeed } from '../../http/feed.ts';

/** The activity of accounts, in pages of at most 1,000 rows. */
export const ACTIVITY = defineFeed({
  prefix: 'act',
  example: 1795168805000004,
  row: 'row',
  begin: '. Leave it out to begin.',
  expired: 'activity-expired',
  pageRows: 1000,
});
