import { askDelete, deleteOwnAccount, downloadAccount, showHistory } from './pages/account-data.ts';
import { showCredits } from './pages/credits.ts';
import { downloadCredits, downloadUsage } from './pages/csv.ts';
import { showSignIn, showSignUp, signIn, signOut, signUp } from './pages/entry.ts';
import { askName, askRevoke, askRotate, rename, revoke, rotate } from './pages/key-changes.ts';
import { makeKey, showKeys } from './pages/keys.ts';
import {
  confirm,
  forgot,
  reset,
  showConfirm,
  showForgot,
  showInvitation,
  showReset,
  takeInvitation,
} from './pages/links.ts';
import { askRemoveMember, removeOther, showMembers } from './pages/members.ts';
import { showOverview } from './pages/overview.ts';
import {
  askOwnEmail,
  askOwnName,
  changeOwnEmail,
  changeOwnName,
  showEmailChange,
  takeEmailChange,
} from './pages/profile.ts';
import { showReference } from './pages/public.ts';
import { showSessions, signOutOthers } from './pages/sessions.ts';
import {
  changeAlerts,
  changePassword,
  changeSpending,
  sendConfirmationAgain,
  showSettings,
} from './pages/settings.ts';
import { showTry, tryCall } from './pages/try.ts';
import type { MemberContext, PageContext, PageResponse } from './request/page-context.ts';

interface Methods<Context> {
  GET?: (context: Context) => Promise<PageResponse>;
  POST?: (context: Context) => Promise<PageResponse>;
}

/** The pages of one path, for anyone or for signed-in users. */
export type Route = ({ for: 'anyone' } & Methods<PageContext>) | ({ for: 'member' } & Methods<MemberContext>);

/**
 * Every page by its path below the dashboard. The only parameter is `:id`. Every change is a POST, and every POST has its
 * form's token.
 */
export const ROUTES: Record<string, Route> = {
  '/sign-in': { for: 'anyone', GET: showSignIn, POST: signIn },
  '/sign-up': { for: 'anyone', GET: showSignUp, POST: signUp },
  '/sign-out': { for: 'anyone', POST: signOut },
  '/forgot': { for: 'anyone', GET: showForgot, POST: forgot },
  '/reset': { for: 'anyone', GET: showReset, POST: reset },
  '/confirm': { for: 'anyone', GET: showConfirm, POST: confirm },
  '/confirm/send': { for: 'member', POST: sendConfirmationAgain },
  '/email': { for: 'anyone', GET: showEmailChange, POST: takeEmailChange },
  '/invitation': { for: 'anyone', GET: showInvitation, POST: takeInvitation },
  '': { for: 'member', GET: showOverview },
  '/usage.csv': { for: 'member', GET: downloadUsage },
  '/keys': { for: 'member', GET: showKeys, POST: makeKey },
  '/keys/:id/rotate': { for: 'member', GET: askRotate, POST: rotate },
  '/keys/:id/rename': { for: 'member', GET: askName, POST: rename },
  '/keys/:id/revoke': { for: 'member', GET: askRevoke, POST: revoke },
  '/credits': { for: 'member', GET: showCredits },
  '/credits.csv': { for: 'member', GET: downloadCredits },
  '/try': { for: 'member', GET: showTry, POST: tryCall },
  '/reference': { for: 'member', GET: showReference },
  '/settings': { for: 'member', GET: showSettings, POST: changePassword },
  '/settings/name': { for: 'member', GET: askOwnName, POST: changeOwnName },
  '/settings/email': { for: 'member', GET: askOwnEmail, POST: changeOwnEmail },
  '/settings/members': { for: 'member', GET: showMembers },
  '/settings/members/:id/remove': { for: 'member', GET: askRemoveMember, POST: removeOther },
  '/settings/sessions': { for: 'member', GET: showSessions, POST: signOutOthers },
  '/settings/history': { for: 'member', GET: showHistory },
  '/settings/account.json': { for: 'member', GET: downloadAccount },
  '/settings/delete': { for: 'member', GET: askDelete, POST: deleteOwnAccount },
  '/settings/spending': { for: 'member', POST: changeSpending },
  '/settings/alerts': { for: 'member', POST: changeAlerts },
};
