import { allowanceNotice } from '../pages/allowance.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import type { MemberContext, PageContext, PageResponse, Tools } from '../request/page-context.ts';
import { contactLink } from './contact.ts';
import { type Html, type HtmlValue, html } from './html.ts';

/** The context of a page without account data. */
type LayoutContext = Pick<PageContext, 'messages'> & { tools: PageTools; url?: URL };
export type PageTools = Pick<Tools, 'root' | 'base' | 'publicUrl' | 'config' | 'assets'>;

type Section = '' | '/keys' | '/try' | '/credits' | '/settings' | '/reference';

interface PageAnswer {
  title: string;
  status?: number;
  headers?: Record<string, string>;
}

function replyWith(context: LayoutContext, { title, status, headers }: PageAnswer, body: Html): PageResponse {
  return {
    page: documentOf(context, title, body),
    ...(status !== undefined && { status }),
    ...(headers !== undefined && { headers }),
  };
}

/** A page of a signed-in member, with the navigation. */
export async function memberPage(
  context: MemberContext,
  page: PageAnswer & { section: Section; body: HtmlValue },
): Promise<PageResponse> {
  const { messages, tools, user, account } = context;
  const link = (section: Section, label: string) =>
    html`<a href="${tools.base + section}"${page.section === section && html` aria-current="page"`}>${label}</a>`;
  const body = html`
<header class="bar">
  <div class="bar-inner">
    <a class="brand" href="${tools.base}">${mark()}<span>${messages.brand}</span></a>
    <nav aria-label="${messages.nav}">
      ${link('', messages.overview)}
      ${link('/keys', messages.keys)}
      ${link('/try', messages.tryIt)}
      ${link('/credits', messages.credits)}
      ${link('/settings', messages.settings)}
      ${link('/reference', messages.referenceShort)}
    </nav>
    <form class="sign-out" method="post" action="${tools.base}/sign-out">
      ${token(context)}
      <span class="who" title="${user.email}">${user.email}</span>
      <button class="quiet" type="submit">${messages.signOut}</button>
    </form>
  </div>
</header>
<main id="main" tabindex="-1">
  ${account.suspended ? html`<p class="notice bad" role="status"><span>${messages.suspended} ${contactLink(context)}</span></p>` : await allowanceNotice(context)}
  ${awaitsConfirmation(context) && confirmationNotice(context)}
  ${page.body}
</main>
${footer(context)}`;
  return replyWith(context, page, body);
}

/** A page for anyone that is as wide as those of members. */
export function publicPage(context: LayoutContext, title: string, content: Html): PageResponse {
  const { messages, tools } = context;
  const body = html`
<header class="bar">
  <div class="bar-inner">
    <a class="brand" href="${tools.base}/sign-in">${mark()}<span>${messages.brand}</span></a>
    <a class="button small quiet" href="${tools.base}/sign-in">${messages.openDashboard}</a>
  </div>
</header>
<main id="main" tabindex="-1">${content}</main>
${footer(context)}`;
  return replyWith(context, { title }, body);
}

/**
 * Whether the member must confirm their email before they create a key or try a call. Without SMTP_URL no member does: no email
 * can be confirmed then, so sign-up is closed by default, and the start warns when an operator opens it to the public.
 */
export function awaitsConfirmation({ tools, user }: MemberContext): boolean {
  return tools.mails && !user.emailVerified;
}

function confirmationNotice(context: MemberContext): Html {
  const { messages, tools, user } = context;
  return html`
<form class="notice warn" method="post" action="${tools.base}/confirm/send">
  ${token(context)}
  <p>${messages.confirmPending(user.email)}</p>
  <button class="small" type="submit">${messages.confirmAgain}</button>
</form>`;
}

/** A page with one card in its middle: signing in and what belongs to it. */
export function cardPage(
  context: LayoutContext,
  page: PageAnswer & { lead?: HtmlValue; body: HtmlValue; after?: HtmlValue },
): PageResponse {
  const { messages, tools } = context;
  const body = html`
<main id="main" class="centre" tabindex="-1">
  <a class="brand" href="${tools.base}/sign-in">${mark()}<span>${messages.brand}</span></a>
  <section class="card sheet">
    <h1>${page.title}</h1>
    ${page.lead !== undefined && html`<p class="lead">${page.lead}</p>`}
    ${page.body}
  </section>
  ${page.after}
</main>
${footer(context)}`;
  return replyWith(context, page, body);
}

/** Text with a button that copies it, where scripts run. */
export function copyable({ messages }: LayoutContext, id: string, label: string, text: string): Html {
  return html`
  <div class="copyable">
    <code id="${id}" tabindex="0" role="group" aria-label="${label}">${text}</code>
    <button class="small" type="button" data-copy="${id}" data-copied="${messages.copied}" hidden>${messages.copy}</button>
  </div>`;
}

/** The part of an address that the link to the other language keeps, in the only form that is put into a page. */
const KEPT = ['token', 'to', 'by', 'days'];
const KEPT_SHAPE = /^[\w./?=&-]{1,2000}$/;

/** The same page in the other language. */
function languageLink({ messages, url }: LayoutContext): HtmlValue {
  if (url === undefined) return null;
  const other = messages.lang === 'en' ? 'pt' : 'en';
  const search = new URLSearchParams({ lang: other });
  for (const name of KEPT) {
    const value = url.searchParams.get(name);
    if (value !== null && KEPT_SHAPE.test(value)) search.set(name, value);
  }
  return html`<a href="?${search.toString()}" hreflang="${other}" lang="${other}">${messages.otherLanguage}</a>`;
}

function footer(context: LayoutContext): Html {
  const { messages, tools } = context;
  const { contact, privacyUrl, termsUrl, statusUrl } = tools.config;
  const links: [address: string | null, label: string][] = [
    [`${tools.root}/openapi?lang=${messages.language}`, messages.reference],
    [contact, messages.contact],
    [privacyUrl, messages.privacy],
    [termsUrl, messages.terms],
    [statusUrl, messages.status],
  ];
  return html`<footer>${languageLink(context)} ${links.map(([address, label]) => address !== null && html`<a href="${address}">${label}</a> `)}</footer>`;
}

/** A page that only says something. */
export function messagePage(
  context: LayoutContext,
  status: number,
  title: string,
  lead: string,
  headers: Record<string, string> = {},
): PageResponse {
  const { messages, tools } = context;
  return cardPage(context, {
    title,
    lead,
    status,
    headers,
    body: html`<p><a class="button wide" href="${tools.base}">${messages.back}</a></p>`,
  });
}

function documentOf({ messages, tools }: LayoutContext, title: string, body: Html): Html {
  const { assets } = tools;
  return html`<!doctype html>
<html lang="${messages.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${messages.brand}</title>
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="preload" href="${assets.font}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${assets.style}">
<script src="${assets.script}" defer></script>
</head>
<body data-show="${messages.showPassword}" data-hide="${messages.hidePassword}" data-press="${messages.pressCopy}">
<a class="skip" href="#main">${messages.skip}</a>
${body}
</body>
</html>
`;
}

/** The hidden field without which a form is refused. */
export function token({ formToken }: PageContext): Html {
  return html`<input type="hidden" name="${TOKEN_FIELD}" value="${formToken}">`;
}

/** The failure of a form, which a screen reader announces at once. */
export function alert(text: string | null): HtmlValue {
  return text !== null && html`<p class="notice bad" role="alert">${text}</p>`;
}

/** The success of a form. */
export function notice(text: string | null | undefined): HtmlValue {
  return text && html`<p class="notice good" role="status" tabindex="-1" autofocus>${text}</p>`;
}

interface Field {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password' | 'search' | 'date';
  value?: string;
  hint?: string;
  autocomplete: string;
  maxLength?: number;
  minLength?: number;
  focus?: boolean;
  optional?: boolean;
  placeholder?: string;
  /** The fault of the sent value. */
  fault?: HtmlValue;
}

/** A labelled input that must be filled in, unless it is `optional`. */
export function field(field: Field): Html {
  const { name, label, type = 'text', value = '', hint, autocomplete, maxLength = 200, minLength } = field;
  const hintId = `${name}-hint`;
  const faultId = `${name}-fault`;
  const hasFault = field.fault !== undefined && field.fault !== null;
  const describedBy = [hasFault && faultId, hint !== undefined && hintId].filter(Boolean).join(' ');
  return html`
<div class="field">
  <label for="${name}">${label}</label>
  <input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${field.optional !== true && html` required`}
    maxlength="${maxLength}"${minLength !== undefined && html` minlength="${minLength}"`}${
      describedBy !== '' && html` aria-describedby="${describedBy}"`
    }${hasFault && html` aria-invalid="true"`}${field.focus === true && html` autofocus`}${field.placeholder !== undefined && html` placeholder="${field.placeholder}"`}${['text', 'search'].includes(type) && html` spellcheck="false"`}>
  ${hasFault && html`<p class="fault" id="${faultId}" role="alert">${field.fault}</p>`}
  ${hint !== undefined && html`<p class="hint" id="${hintId}">${hint}</p>`}
</div>`;
}

/** The mark beside the name: lines of a register. */
function mark(): Html {
  return html`<svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M9 10.5h14M9 16h9.5M9 21.5h5"/></svg>`;
}
