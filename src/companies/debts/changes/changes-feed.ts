import { defineFeed } from '../../../http/feed.ts';

/** The changes of debts, in pages of at most 100. */
export const CHANGES = defineFeed({
  prefix: 'chg',
  example: 1793618414083001,
  row: 'change',
  begin: ', or `null` to begin. For example: null',
  expired: 'changes-expired',
  pageRows: 100,
});
