import type { RequestTrace } from '../../http/observe.ts';
import type { AccountDetails } from '../../metering/accounts/store.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Messages } from '../messages.ts';
import type { Assets } from '../ui/assets.ts';
import type { Html, HtmlValue } from '../ui/html.ts';
import type { Formats, Language } from '../ui/language.ts';
import type { ClientAddress } from './client-address.ts';

/** The parts that the frame of a page is made of. */
export interface LayoutTools {
  config: Config;
  /** The service's own address. */
  publicUrl: string;
  /** Path of the service, '' unless the public address has one. */
  root: string;
  /** Path of the dashboard, `/dashboard` behind the public address's own path. */
  base: string;
  assets: Assets;
}

/** The further parts that forms and the pages of members need. */
export interface FormTools extends LayoutTools {
  /** Whether mail can be sent. */
  mails: boolean;
  /** The notices above every page of a member. */
  notices(context: MemberForms): Promise<Notice[]>;
}

/** A notice above every page. */
export interface Notice {
  look: 'warn' | 'bad';
  /** Its first sentence, without links: a narrow window shows the beginning of it. */
  lead: HtmlValue;
  content: Html;
}

export interface User {
  id: string;
  name: string;
  email: string;
  emailVerified: boolean;
  hasSecondFactor: boolean;
}

export interface Session {
  id: string;
  user: User;
}

/** The client of a request before its session is read. */
export interface Door extends ClientAddress {
  /** The user that has signed in with this browser before (known-browser.ts); `null` if none has. */
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

/** A request for a page, as forms need it. */
export interface FormContext extends LayoutContext {
  request: Request;
  url: URL;
  /** The `:id` of the path, still escaped; '' if it has none. */
  id: string;
  /** A field of the form, as it was sent; '' without one. */
  sent(name: string): string;
  /** Gives the request's place to the next one, because its rest needs none. */
  leave(): void;
  client: Client;
  session: Session | null;
  formToken: string;
  formats: Formats;
  tools: FormTools;
  trace: RequestTrace;
}

/** The same for a signed-in user, with their account. */
export interface MemberForms extends FormContext {
  session: Session;
  user: User;
  account: AccountDetails;
}

export type PageResponse = { headers?: Record<string, string>; cookies?: string[] } & (
  | { page: Html; status?: number }
  | { redirect: string }
  | { file: string | ReadableStream<Uint8Array>; type: string }
);

/** Redirects to another page of the dashboard, after a form has done its work. */
export function redirectTo(context: FormContext, path: string, cookies: string[] = []): PageResponse {
  return { redirect: context.tools.base + path, cookies };
}
