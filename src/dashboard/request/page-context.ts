import type { ReadAccount } from '../../accounts/reader.ts';
import type { AccountDetails } from '../../accounts/store.ts';
import type { Handler, Pipeline } from '../../admission/pipeline.ts';
import type { Observer, RequestTrace } from '../../http/observe.ts';
import type { RateLimiter } from '../../rate-limit/limiter.ts';
import type { Auth, AuthClient, AuthParts, Session, User } from '../auth/auth.ts';
import type { OpenApi } from '../../http/openapi.ts';
import type { Assets } from '../ui/assets.ts';
import type { Html } from '../ui/html.ts';
import type { Formats } from '../ui/language.ts';
import type { Messages } from '../ui/messages.ts';
import type { Gate } from './gate.ts';

/** What the service gives the dashboard to work with. */
export interface DashboardParts extends Omit<AuthParts, 'secret' | 'mailer'> {
  observer: Observer;
  pipeline: Pipeline;
  rateLimiter: RateLimiter;
  search: Handler;
  lookup: Handler;
  debts: Handler;
  /** The API's document, for its reference. */
  openApi: OpenApi;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/** What every page works with. */
export interface Tools extends DashboardParts, AuthParts {
  auth: Auth;
  readAccount: ReadAccount;
  /** Whether mail can be sent. */
  mails: boolean;
  /** The downloads of account data in progress. */
  downloads: Gate;
  /** Path of the service, '' unless the public address has one. */
  root: string;
  /** Path of the dashboard, `/dashboard` behind the public address's own path. */
  base: string;
  assets: Assets;
}

/** A request for a page, with the tools to answer it. */
export interface PageContext {
  request: Request;
  url: URL;
  /** The `:id` of the path, still escaped; '' if it has none. */
  id: string;
  /** A field of the form, as it was sent; '' without one. */
  fields(name: string): string;
  /** Gives the request's place to the next one, because its rest needs none. */
  leave(): void;
  client: AuthClient;
  session: Session | null;
  formToken: string;
  messages: Messages;
  formats: Formats;
  tools: Tools;
  trace: RequestTrace;
}

/** The context of a page for a signed-in user, with the one account that they see. */
export interface MemberContext extends PageContext {
  session: Session;
  user: User;
  account: AccountDetails;
}

/** The answer of a page. */
export type PageResponse = { headers?: Record<string, string>; cookies?: string[] } & (
  | { page: Html; status?: number }
  | { redirect: string }
  | { file: string | ReadableStream<Uint8Array>; type: string }
);

/** Redirects to another page of the dashboard, after a form has done its work. */
export function redirectTo(context: PageContext, path: string, cookies: string[] = []): PageResponse {
  return { redirect: context.tools.base + path, cookies };
}
