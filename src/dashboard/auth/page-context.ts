import type { ReadAccount } from '../../accounts/reader.ts';
import type { Pipeline } from '../../admission/pipeline.ts';
import type { Handler } from '../../admission/plan.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import type { Observer } from '../../http/observe.ts';
import type { OpenApi } from '../../http/openapi.ts';
import type { RateLimiter } from '../../rate-limit/limiter.ts';
import type { Gate } from '../../runtime/gate.ts';
import type { FormContext, FormTools, MemberForms } from '../request/context.ts';
import type { Auth, AuthParts } from './auth.ts';

/** An owner invites and removes members, sets alerts to further addresses, and deletes the account. All else is open to members. */
export type Role = 'owner' | 'member';

/** The parts of the service that the dashboard works with. */
export interface DashboardParts extends Omit<AuthParts, 'secret' | 'mailer'> {
  observer: Observer;
  pipeline: Pipeline;
  rateLimiter: RateLimiter;
  handlers: ReadonlyMap<ApiRoute, Handler>;
  /** The API's document, for its reference. */
  openApi: OpenApi;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/** The parts of the dashboard that pages use. */
export interface Tools extends DashboardParts, AuthParts, FormTools {
  auth: Auth;
  readAccount: ReadAccount;
  /** The downloads of account data in progress. */
  downloads: Gate;
}

/** A request for a page, with the tools to answer it. */
export interface PageContext extends FormContext {
  tools: Tools;
}

/** The context of a page for a signed-in user. */
export interface MemberContext extends MemberForms {
  role: Role;
  tools: Tools;
}
