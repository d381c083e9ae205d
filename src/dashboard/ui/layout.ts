import { allowanceNotice } from '../pages/allowance.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import type { MemberVisit, Reply, Tools, Visit } from '../request/visit.ts';
import { contactLink } from './contact.ts';
import { type Html, type HtmlValue, html } from './html.ts';

/** The context of a page without account data. */
type PageVisit = Pick<Visit, 'texts'> & { tools: PageTools; url?: URL };
export type PageTools = Pick<Tools, 'root' | 'base' | 'publicUrl' | 'config' | 'assets'>;

type Section = '' | '/keys' | '/try' | '/credits' | '/settings' | '/reference';

interface PageAnswer {
  title: string;
  status?: number;
  headers?: Record<string, string>;
}

function replyWith(visit: PageVisit, { title, status, headers }: PageAnswer, body: Html): Reply {
  return {
    page: documentOf(visit, title, body),
    ...(status !== undefined && { status }),
    ...(headers !== undefined && { headers }),
  };
}

/** A page of a signed-in member, with the navigation. */
export async function memberPage(
  visit: MemberVisit,
  page: PageAnswer & { section: Section; body: HtmlValue },
): Promise<Reply> {
  const { texts, tools, user, account } = visit;
  const link = (section: Section, label: string) =>
    html`<a href="${tools.base + section}"${page.section === section && html` aria-current="page"`}>${label}</a>`;
  const body = html`
<header class="bar">
  <div class="bar-inner">
    <a class="brand" href="${tools.base}">${mark()}<span>${texts.brand}</span></a>
    <nav aria-label="${texts.nav}">
      ${link('', texts.overview)}
      ${link('/keys', texts.keys)}
      ${link('/try', texts.tryIt)}
      ${link('/credits', texts.credits)}
      ${link('/settings', texts.settings)}
      ${link('/reference', texts.referenceShort)}
    </nav>
    <form class="sign-out" method="post" action="${tools.base}/sign-out">
      ${token(visit)}
      <span class="who" title="${user.email}">${user.email}</span>
      <button class="quiet" type="submit">${texts.signOut}</button>
    </form>
  </div>
</header>
<main id="main" tabindex="-1">
  ${account.suspended ? html`<p class="notice bad" role="status"><span>${texts.suspended} ${contactLink(visit)}</span></p>` : await allowanceNotice(visit)}
  ${awaitsConfirmation(visit) && confirmationNotice(visit)}
  ${page.body}
</main>
${footer(visit)}`;
  return replyWith(visit, page, body);
}

/** A page for anyone that is as wide as those of members. */
export function publicPage(visit: PageVisit, title: string, content: Html): Reply {
  const { texts, tools } = visit;
  const body = html`
<header class="bar">
  <div class="bar-inner">
    <a class="brand" href="${tools.base}/sign-in">${mark()}<span>${texts.brand}</span></a>
    <a class="button small quiet" href="${tools.base}/sign-in">${texts.openDashboard}</a>
  </div>
</header>
<main id="main" tabindex="-1">${content}</main>
${footer(visit)}`;
  return replyWith(visit, { title }, body);
}

/**
 * Whether the member must confirm their email before they create a key or try a call. Without SMTP_URL no member does: no email
 * can be confirmed then, so sign-up is closed by default, and the start warns when an operator opens it to the public.
 */
export function awaitsConfirmation({ tools, user }: MemberVisit): boolean {
  return tools.mails && !user.emailVerified;
}

function confirmationNotice(visit: MemberVisit): Html {
  const { texts, tools, user } = visit;
  return html`
<form class="notice warn" method="post" action="${tools.base}/confirm/send">
  ${token(visit)}
  <p>${texts.confirmPending(user.email)}</p>
  <button class="small" type="submit">${texts.confirmAgain}</button>
</form>`;
}

/** A page with one card in its middle: signing in and what belongs to it. */
export function cardPage(
  visit: PageVisit,
  page: PageAnswer & { lead?: HtmlValue; body: HtmlValue; after?: HtmlValue },
): Reply {
  const { texts, tools } = visit;
  const body = html`
<main id="main" class="centre" tabindex="-1">
  <a class="brand" href="${tools.base}/sign-in">${mark()}<span>${texts.brand}</span></a>
  <section class="card sheet">
    <h1>${page.title}</h1>
    ${page.lead !== undefined && html`<p class="lead">${page.lead}</p>`}
    ${page.body}
  </section>
  ${page.after}
</main>
${footer(visit)}`;
  return replyWith(visit, page, body);
}

/** Text with a button that copies it, where scripts run. */
export function copyable({ texts }: PageVisit, id: string, label: string, text: string): Html {
  return html`
  <div class="copyable">
    <code id="${id}" tabindex="0" role="group" aria-label="${label}">${text}</code>
    <button class="small" type="button" data-copy="${id}" data-copied="${texts.copied}" hidden>${texts.copy}</button>
  </div>`;
}

/** The part of an address that the link to the other language keeps, in the only form that is put into a page. */
const KEPT = ['token', 'to', 'by', 'days'];
const KEPT_SHAPE = /^[\w./?=&-]{1,2000}$/;

/** The same page in the other language. */
function languageLink({ texts, url }: PageVisit): HtmlValue {
  if (url === undefined) return null;
  const other = texts.lang === 'en' ? 'pt' : 'en';
  const search = new URLSearchParams({ lang: other });
  for (const name of KEPT) {
    const value = url.searchParams.get(name);
    if (value !== null && KEPT_SHAPE.test(value)) search.set(name, value);
  }
  return html`<a href="?${search.toString()}" hreflang="${other}" lang="${other}">${texts.otherLanguage}</a>`;
}

function footer(visit: PageVisit): Html {
  const { texts, tools } = visit;
  const { contact, privacyUrl, termsUrl, statusUrl } = tools.config;
  const links: [address: string | null, label: string][] = [
    [`${tools.root}/openapi?lang=${texts.language}`, texts.reference],
    [contact, texts.contact],
    [privacyUrl, texts.privacy],
    [termsUrl, texts.terms],
    [statusUrl, texts.status],
  ];
  return html`<footer>${languageLink(visit)} ${links.map(([address, label]) => address !== null && html`<a href="${address}">${label}</a> `)}</footer>`;
}

/** A page that only says something. */
export function messagePage(
  visit: PageVisit,
  status: number,
  title: string,
  lead: string,
  headers: Record<string, string> = {},
): Reply {
  const { texts, tools } = visit;
  return cardPage(visit, {
    title,
    lead,
    status,
    headers,
    body: html`<p><a class="button wide" href="${tools.base}">${texts.back}</a></p>`,
  });
}

function documentOf({ texts, tools }: PageVisit, title: string, body: Html): Html {
  const { assets } = tools;
  return html`<!doctype html>
<html lang="${texts.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${texts.brand}</title>
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="preload" href="${assets.font}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${assets.style}">
<script src="${assets.script}" defer></script>
</head>
<body data-show="${texts.showPassword}" data-hide="${texts.hidePassword}" data-press="${texts.pressCopy}">
<a class="skip" href="#main">${texts.skip}</a>
${body}
</body>
</html>
`;
}

/** The hidden field without which a form is refused. */
export function token({ formToken }: Visit): Html {
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
