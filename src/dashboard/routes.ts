import { askDelete, deleteOwnAccount, downloadAccount, showHistory } from './pages/account-data.ts';
import { showCredits } from './pages/credits.ts';
import { downloadCredits, downloadUsage } from './pages/csv.ts';
import { showSignIn, showSignUp, signIn, signOut, signUp } from './pages/entry.ts';
import { askName, askRotate, rename, rotate } from './pages/key-changes.ts';
import { askRevoke, makeKey, revoke, showKeys } from './pages/keys.ts';
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

/** A page: for anyone, or for whoever is signed in. */
type Route = {
  method: 'GET' | 'POST';
  /** Below the dashboard, with `:parameters`. */
  path: string;
} & (
  | { for: 'anyone'; page: (context: PageContext) => Promise<PageResponse> }
  | { for: 'member'; page: (context: MemberContext) => Promise<PageResponse> }
);

/** Every page of the dashboard. What changes something is a POST, and every POST carries its form's token. */
const ROUTES: Route[] = [
  { method: 'GET', path: '/sign-in', for: 'anyone', page: showSignIn },
  { method: 'POST', path: '/sign-in', for: 'anyone', page: signIn },
  { method: 'GET', path: '/sign-up', for: 'anyone', page: showSignUp },
  { method: 'POST', path: '/sign-up', for: 'anyone', page: signUp },
  { method: 'POST', path: '/sign-out', for: 'anyone', page: signOut },
  { method: 'GET', path: '/forgot', for: 'anyone', page: showForgot },
  { method: 'POST', path: '/forgot', for: 'anyone', page: forgot },
  { method: 'GET', path: '/reset', for: 'anyone', page: showReset },
  { method: 'POST', path: '/reset', for: 'anyone', page: reset },
  { method: 'GET', path: '/confirm', for: 'anyone', page: showConfirm },
  { method: 'POST', path: '/confirm', for: 'anyone', page: confirm },
  { method: 'POST', path: '/confirm/send', for: 'member', page: sendConfirmationAgain },
  { method: 'GET', path: '/email', for: 'anyone', page: showEmailChange },
  { method: 'POST', path: '/email', for: 'anyone', page: takeEmailChange },
  { method: 'GET', path: '/invitation', for: 'anyone', page: showInvitation },
  { method: 'POST', path: '/invitation', for: 'anyone', page: takeInvitation },
  { method: 'GET', path: '', for: 'member', page: showOverview },
  { method: 'GET', path: '/usage.csv', for: 'member', page: downloadUsage },
  { method: 'GET', path: '/keys', for: 'member', page: showKeys },
  { method: 'POST', path: '/keys', for: 'member', page: makeKey },
  { method: 'GET', path: '/keys/:id/rotate', for: 'member', page: askRotate },
  { method: 'POST', path: '/keys/:id/rotate', for: 'member', page: rotate },
  { method: 'GET', path: '/keys/:id/rename', for: 'member', page: askName },
  { method: 'POST', path: '/keys/:id/rename', for: 'member', page: rename },
  { method: 'GET', path: '/keys/:id/revoke', for: 'member', page: askRevoke },
  { method: 'POST', path: '/keys/:id/revoke', for: 'member', page: revoke },
  { method: 'GET', path: '/credits', for: 'member', page: showCredits },
  { method: 'GET', path: '/credits.csv', for: 'member', page: downloadCredits },
  { method: 'GET', path: '/try', for: 'member', page: showTry },
  { method: 'POST', path: '/try', for: 'member', page: tryCall },
  { method: 'GET', path: '/reference', for: 'member', page: showReference },
  { method: 'GET', path: '/settings', for: 'member', page: showSettings },
  { method: 'POST', path: '/settings', for: 'member', page: changePassword },
  { method: 'GET', path: '/settings/name', for: 'member', page: askOwnName },
  { method: 'POST', path: '/settings/name', for: 'member', page: changeOwnName },
  { method: 'GET', path: '/settings/email', for: 'member', page: askOwnEmail },
  { method: 'POST', path: '/settings/email', for: 'member', page: changeOwnEmail },
  { method: 'GET', path: '/settings/members', for: 'member', page: showMembers },
  { method: 'GET', path: '/settings/members/:id/remove', for: 'member', page: askRemoveMember },
  { method: 'POST', path: '/settings/members/:id/remove', for: 'member', page: removeOther },
  { method: 'GET', path: '/settings/sessions', for: 'member', page: showSessions },
  { method: 'POST', path: '/settings/sessions', for: 'member', page: signOutOthers },
  { method: 'GET', path: '/settings/history', for: 'member', page: showHistory },
  { method: 'GET', path: '/settings/account.json', for: 'member', page: downloadAccount },
  { method: 'GET', path: '/settings/delete', for: 'member', page: askDelete },
  { method: 'POST', path: '/settings/delete', for: 'member', page: deleteOwnAccount },
  { method: 'POST', path: '/settings/spending', for: 'member', page: changeSpending },
  { method: 'POST', path: '/settings/alerts', for: 'member', page: changeAlerts },
];

/** The paths of all pages, below the dashboard, with `:parameters`. */
export const PATHS: string[] = [...new Set(ROUTES.map(({ path }) => path))];

export interface Match {
  /** null: the path is known, the method isn't. */
  route: Route | null;
  /** The route's template, for logs and metrics. */
  template: string;
  params: Record<string, string>;
  /** Methods that the path has. */
  allowed: string[];
}

/** @param path below the dashboard, `''` for the dashboard itself; @returns null for a path that is no page's */
export function matchRoute(method: string, path: string): Match | null {
  const parts = path.split('/');
  const matches = ROUTES.flatMap((route) => {
    const params = matchPath(route.path.split('/'), parts);
    return params === null ? [] : [{ route, params }];
  });
  const first = matches[0];
  if (first === undefined) return null;
  const found = matches.find(({ route }) => route.method === method) ?? null;
  return {
    route: found?.route ?? null,
    template: `/dashboard${first.route.path}`,
    params: first.params,
    allowed: matches.map(({ route }) => route.method),
  };
}

function matchPath(template: string[], path: string[]): Record<string, string> | null {
  if (template.length !== path.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    const given = path[index]!;
    if (part.startsWith(':')) params[part.slice(1)] = given;
    else if (part !== given) return null;
  }
  return params;
}
