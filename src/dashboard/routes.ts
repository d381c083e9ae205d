import * as accountData from './account/account-data.ts';
import { ownEmail } from './account/email-change.ts';
import * as members from './account/members-page.ts';
import * as settings from './account/settings.ts';
import * as activity from './activity/activity.ts';
import { authorize, consent } from './connections/consent.ts';
import type { MemberContext, PageContext, PageResponse, Traits } from './context.ts';
import * as key from './keys/key.ts';
import * as keys from './keys/keys.ts';
import * as overview from './overview.ts';
import * as publicPages from './reference/public.ts';
import * as screen from './screen/screen.ts';
import * as entry from './sign-in/entry.ts';
import * as links from './sign-in/links.ts';
import * as secondFactor from './sign-in/second-factor.ts';
import * as tryIt from './try/try.ts';
import * as credits from './usage/credits-page.ts';
import * as csv from './usage/download.ts';

interface Methods<Context> {
  GET?: (context: Context) => Promise<PageResponse>;
  POST?: (context: Context) => Promise<PageResponse>;
}

/** The pages of one path, for anyone or for signed-in users. */
export type Route = PublicRoute | MemberRoute;
type PublicRoute = Traits & { for: 'anyone' } & Methods<PageContext>;
export type MemberRoute = Traits & { for: 'member' } & Methods<MemberContext>;
/**
 * Every page by its path below the dashboard. The only parameter is `:id`. Every change is a POST, and every POST has its
 * form's token.
 */
export const ROUTES: Record<string, Route> = {
  '/sign-in': { for: 'anyone', hasPassword: true, opensSession: true, ...entry.signIn },
  '/sign-in/code': { for: 'anyone', opensSession: true, ...secondFactor.signInCode },
  '/sign-up': { for: 'anyone', hasPassword: true, opensSession: true, ...entry.signUp },
  '/sign-up/again': { for: 'anyone', GET: entry.seeMail },
  '/sign-out': { for: 'anyone', endsSession: true, POST: entry.signOut },
  '/forgot': { for: 'anyone', ...links.forgot },
  '/reset': { for: 'anyone', hasPassword: true, ...links.reset },
  '/email': { for: 'anyone', ...links.newEmail },
  '/invitation': { for: 'anyone', hasPassword: true, ...links.invitation },
  '': { for: 'member', GET: overview.showOverview },
  '/activity': { for: 'member', GET: activity.showActivity },
  '/usage.csv': { for: 'member', waits: true, GET: csv.downloadUsage },
  '/keys': { for: 'member', keeps: ['name', 'expires'], resends: ['name', 'expires'], ...keys.keys },
  '/keys/:id': { for: 'member', GET: key.showKey },
  '/keys/:id/end-secret': { for: 'member', ...key.endSecret },
  '/keys/:id/rotate': { for: 'member', ...key.rotate },
  '/keys/:id/change': { for: 'member', ...key.change },
  '/keys/:id/revoke': { for: 'member', ...key.revoke },
  '/connect': { for: 'anyone', GET: authorize },
  '/connect/consent': { for: 'member', hasPassword: true, ...consent },
  '/credits': { for: 'member', GET: credits.showCredits },
  '/credits/spending': { for: 'member', ...credits.spending },
  '/try': { for: 'member', calls: true, keeps: ['q'], resends: ['q', 'kind', 'lookup'], ...tryIt.tryIt },
  '/screen': { for: 'member', hasList: true, resends: ['list', 'price'], ...screen.screen },
  '/reference': { for: 'member', GET: publicPages.showReference },
  '/settings': { for: 'member', hasPassword: true, ...settings.settings },
  '/settings/name': { for: 'member', ...settings.names },
  '/settings/email': { for: 'member', hasPassword: true, ...ownEmail },
  '/settings/second-factor': { for: 'member', hasPassword: true, ...secondFactor.secondFactor },
  '/settings/second-factor/confirm': { for: 'member', POST: secondFactor.confirmation.POST },
  '/settings/second-factor/codes': { for: 'member', hasPassword: true, ...secondFactor.newBackupCodes },
  '/settings/second-factor/off': { for: 'member', hasPassword: true, ...secondFactor.turnOff },
  '/settings/members': { for: 'member', hasPassword: true, ...members.members },
  '/settings/members/withdraw': { for: 'member', ownersOnly: true, POST: members.withdraw },
  '/settings/members/:id/remove': { for: 'member', hasPassword: true, ...members.removal },
  '/settings/members/:id/role': { for: 'member', ownersOnly: true, hasPassword: true, ...members.role },
  '/settings/sessions': { for: 'member', POST: settings.signOutOthers },
  '/settings/history': { for: 'member', GET: accountData.showHistory },
  '/settings/account.json': { for: 'member', waits: true, GET: accountData.downloadAccount },
  '/settings/delete': { for: 'member', ownersOnly: true, hasPassword: true, ...accountData.deletion },
  '/settings/alerts': { for: 'member', POST: settings.changeAlerts },
};
