import type { CompanyNames } from '../companies/search/company-names.ts';
import type { ApiRoute } from '../http/api-route.ts';
import type { Observer, RequestTrace } from '../http/observe.ts';
import type { OpenApi } from '../http/openapi.ts';
import type { ReadAccount } from '../metering/accounts/reader.ts';
import type { Pipeline } from '../metering/admission/pipeline.ts';
import type { Handler } from '../metering/admission/quote.ts';
import type { RateLimiter } from '../metering/rate-limit/limiter.ts';
import type { Gate } from '../platform/runtime/gate.ts';
import type { Auth } from './auth/auth.ts';
import type { Membership } from './auth/members.ts';
import type { AuthParts } from './auth/parts.ts';
import type { Client, FormContext, FormTools, MemberForms, Session } from './request/context.ts';
import type { Unanswered } from './request/retry.ts';

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
  companyNames: CompanyNames;
  /** The downloads in progress, by account. */
  downloads: Gate;
}

/** A request on its way through the stages. Each adds what it has read. */
export interface Visit extends Unanswered {
  tools: Tools;
  trace: RequestTrace;
  client: Client;
  session: Session | null;
  /** To be set with the answer. */
  cookies: string[];
}

/** A request for a page, with the tools to answer it. */
export interface PageContext extends FormContext {
  tools: Tools;
}

/** The context of a page for a signed-in user. */
export interface MemberContext extends MemberForms, Pick<Membership, 'role' | 'usageAlerts'> {
  tools: Tools;
}
