/** The contexts of a request, each with what the one before lacks, and the tools of pages. Types alone, so that every folder can use them. */
import type { CompanyNames } from '../companies/search/company-names.ts';
import type { ApiRoute } from '../http/api-route.ts';
import type { Observer, RequestTrace } from '../http/observe.ts';
import type { OpenApi } from '../http/openapi.ts';
import type { AccountDetails } from '../metering/accounts/account-store.ts';
import type { ReadAccount } from '../metering/accounts/reader.ts';
import type { Pipeline } from '../metering/admission/pipeline.ts';
import type { Handler } from '../metering/admission/quote.ts';
import type { RateLimiter } from '../metering/rate-limit/bucket.ts';
import type { Config } from '../platform/config/config.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Sql } from '../platform/postgres/connect.ts';
import type { Gate } from '../platform/runtime/gate.ts';
import type { Auth } from './auth/auth.ts';
import type { Mailer } from './auth/mail.ts';
import type { Membership } from './auth/members.ts';
import type { Messages } from './messages.ts';
import type { ClientAddress } from './request/client-address.ts';
import type { Assets } from './ui/assets.ts';
import type { Html, HtmlValue } from './ui/html.ts';
import type { Formats, Language } from './ui/language.ts';

/** The parts of the service that the dashboard works with. */
export interface DashboardParts {
  /** The dashboard's own pool. */
  sql: Sql;
  config: Config;
  /** The service's own address. Links are made from it alone. */
  publicUrl: string;
  log: Log;
  observer: Observer;
  pipeline: Pipeline;
  rateLimiter: RateLimiter;
  handlers: ReadonlyMap<ApiRoute, Handler>;
  /** The API's document, for its reference. */
  openApi: OpenApi;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/** The parts that the frame of a page is made of. */
export interface LayoutTools extends Pick<DashboardParts, 'config' | 'publicUrl'> {
  /** Path of the service, '' unless the public address has one. */
  root: string;
  /** Path of the dashboard, `/dashboard` behind the public address's own path. */
  base: string;
  assets: Assets;
}

/** The parts that sign-ins work with. */
export interface AuthParts extends Pick<DashboardParts, 'sql' | 'config' | 'publicUrl' | 'log'> {
  /** Signs sessions. Keys for other uses are derived from it (csrf.ts). */
  secret: string;
  /** `null` means that no mail is sent. */
  mailer: Mailer | null;
}

/** The parts of the dashboard that pages use. */
export interface Tools extends DashboardParts, AuthParts, LayoutTools {
  auth: Auth;
  readAccount: ReadAccount;
  companyNames: CompanyNames;
  /** The downloads in progress, by account. */
  downloads: Gate;
  /** The notices above every page of a member. */
  notices(context: MemberContext): Promise<Notice[]>;
}

/** A notice above every page. */
export interface Notice {
  look: 'warn' | 'bad';
  /** Its subject: `suspension`, `plan`, `credits` and their state, `keys`, or the id of a key. */
  about: string;
  /** Its first sentence, without links: a narrow window shows the beginning of it. */
  lead: HtmlValue;
  more?: HtmlValue;
  /** The way to the remedy. */
  remedy?: Html;
}

export interface User {
  id: string;
  name: string;
  /** With mail, confirmed. */
  email: string;
  hasSecondFactor: boolean;
}

export interface Session {
  id: string;
  user: User;
}

/** The client of a request before its session is read. */
export interface Door extends ClientAddress {
  /** The user that has signed in with this browser before (cookies.ts); `null` if none has. */
  knownUser: string | null;
}

/** The browser that a request comes from. */
export interface Client extends Door {
  /** Those of better-auth alone; `null` without one. */
  cookie: string | null;
  /** The language of the page, and of mails that it sends. */
  language: Language;
  /** Cut to a length that a list of sessions can show. */
  userAgent: string | null;
}

/** The context of a page without account data. */
export interface LayoutContext {
  messages: Messages;
  tools: LayoutTools;
  url?: URL;
}

/** The properties of a route's pages. Each is set in routes.ts. */
export interface Traits {
  /** Its form has a password, which takes long to check or hash. */
  hasPassword?: true;
  /** Its form may be long. */
  hasList?: true;
  /** Its form opens a session. */
  opensSession?: true;
  /** Its form ends the session, so without one it has done its work. */
  endsSession?: true;
  /** Its form makes a call, which has the API's own limits of time. */
  calls?: true;
  /** It waits for a place of a download, longer than a page may take (dashboard.ts). */
  waits?: true;
  /** A member who is no owner gets 403. */
  ownersOnly?: true;
  /** The fields that survive the end of a session, because the page takes them from its address. */
  keeps?: readonly string[];
  /** The fields that a page in its place keeps, to send them again. None holds a password. */
  resends?: readonly string[];
}

/** A request on its way through the stages, each of which adds what it has read. */
export interface Visit extends LayoutContext {
  tools: Tools;
  request: Request;
  /** The key of its route, which of a form that can be sent again is its path. */
  path: string;
  /** Nothing for a path without pages. */
  route: Traits;
  trace: RequestTrace;
  client: Client;
  session: Session | null;
  /** As it was sent; `null` without one, and if it was not read. */
  form: URLSearchParams | null;
  /** To be set with the answer. */
  cookies: string[];
}

/** A request for a page. */
export interface PageContext extends Visit {
  url: URL;
  /** The `:id` of the path, still escaped; '' if it has none. */
  id: string;
  /** A field of the form, as it was sent; '' without one. */
  sent(name: string): string;
  /** Gives the request's place to the next one, because its rest needs none. */
  leave(): void;
  formToken: string;
  formats: Formats;
}

/** The same for a signed-in user, with their account. */
export interface MemberContext extends PageContext, Pick<Membership, 'role' | 'usageAlerts'> {
  session: Session;
  user: User;
  account: AccountDetails;
}

export type PageResponse = { headers?: Record<string, string>; cookies?: string[] } & (
  | { page: Html; status?: number }
  | { redirect: string }
  | { file: string | ReadableStream<Uint8Array>; type: string }
);
