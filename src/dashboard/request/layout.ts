import type { LayoutContext, MemberContext, Notice, PageResponse } from '../context.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { type Form, form, tokenField } from './forms.ts';
import { keptQuery, pathBelow } from './return-path.ts';

interface PageOptions {
  title: string;
  status?: number;
  headers?: Record<string, string>;
}

function respondWith(context: LayoutContext, { title, status, headers }: PageOptions, content: Html) {
  const { messages, tools } = context;
  const { address } = tools.assets;
  const page = html`<!doctype html>
<html lang="${messages.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${messages.brand}</title>
<link rel="icon" href="${address('mark.svg')}" type="image/svg+xml">
<link rel="preload" href="${address('geist.woff2')}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${address('dashboard.css')}">
<script src="${address('dashboard.js')}" defer></script>
</head>
<body data-show="${messages.show}" data-hide="${messages.hidePassword}" data-press="${messages.pressCopy}" data-local="${messages.localTime}">
<a class="skip" href="#main">${messages.skip}</a>
${content}
${footer(context)}
</body>
</html>
`;
  return { page, ...(status && { status }), ...(headers && { headers }) };
}

/** A page of a signed-in member, with the navigation, and with the success of the form that led here. */
export async function memberPage(
  context: MemberContext,
  page: PageOptions & { body: HtmlValue },
): Promise<PageResponse> {
  const { messages, tools, user, url, account } = context;
  const section = pathBelow(url).split('/')[1] ?? '';
  const link = (name: string, label: string) =>
    html`<a href="${tools.base}${name && `/${name}`}"${section === name && html` aria-current="page"`}>${label}</a>`;
  const notices = await tools.notices(context);
  const content = html`
<header class="bar">
  <div class="bar-inner">
    ${brand(context, tools.base)}
    <details class="menu" name="bar">
      <summary>${messages.menu}</summary>
      <nav aria-label="${messages.menu}">
        ${link('', messages.overview)}
        ${link('activity', messages.activity)}
        ${link('keys', messages.keys)}
        ${link('try', messages.tryIt)}
        ${link('screen', messages.screen)}
        ${link('credits', messages.credits)}
        ${link('reference', messages.referenceShort)}
      </nav>
    </details>
    <details class="menu account" name="bar">
      <summary><span class="unseen">${messages.account}: </span><span class="cut">${account.name}</span></summary>
      <div>
        <p><strong>${account.name}</strong></p>
        <p>${user.email}</p>
        ${link('settings', messages.settings)}
        <form class="sign-out" method="post" action="${tools.base}/sign-out">
          ${tokenField(context)}
          <button class="small quiet" type="submit">${messages.signOut}</button>
        </form>
      </div>
    </details>
  </div>
</header>
<main id="main" tabindex="-1">
  ${notices.length > 0 && foldedNotices(notices)}
  ${doneNotice(context)}
  ${page.body}
</main>`;
  return respondWith(context, page, content);
}

/** All notices in one part, which is folded to the beginning of the first one, and their number. In a wide window one notice alone is open. */
function foldedNotices(notices: Notice[]): Html {
  const { look, lead } = notices.find(({ look }) => look === 'bad') ?? notices[0]!;
  return html`
<details class="notices${notices.length === 1 && ' single'}">
  <summary class="notice ${look}"><span class="notice-lead">${lead}</span>${notices.length > 1 && html`<span>+${notices.length - 1}</span>`}</summary>
  ${notices.map(
    ({ look, about, lead, more, remedy }) => html`
  <div class="notice ${look}" role="status" data-notice="${about}">
    <p>${lead} ${more}</p>
    ${remedy && html`<p>${remedy}</p>`}
  </div>`,
  )}
</details>`;
}

export interface FormPage extends Form {
  title: string;
  lead?: HtmlValue;
  cancel: string;
}

/**
 * A page of a member with one form, which a link leaves without sending it. The focus is on the first field to fill in, else on the title.
 * A form whose effect can't be undone (`bad`) is a question: its title has the focus, and Escape leaves it, too.
 */
export function formPage(context: MemberContext, page: FormPage): Promise<PageResponse> {
  const { title, lead, refusal, fields = [], look } = page;
  const focus = page.focus !== false && look !== 'bad' && fields.length > 0;
  const isOnTitle = !focus && refusal?.faults === undefined;
  return sheet(context, { title, ...refusal }, html`${lead}${form(context, { ...page, focus })}`, isOnTitle);
}

/** A page of a member that is one card. */
export function sheet(context: MemberContext, page: PageOptions, content: Html, isOnTitle = false) {
  const body = html`
<section class="card sheet narrow"><h1${isOnTitle && html` tabindex="-1" autofocus`}>${page.title}</h1>${content}</section>`;
  return memberPage(context, { ...page, body });
}

/** The success message of a form. Only the form's own redirect shows it, so a crafted link can't show another message. */
function doneNotice({ messages, url }: LayoutContext): HtmlValue {
  if (url === undefined) return null;
  const path = pathBelow(url).replace(/\/key_\w+$/, '/:id');
  const address = `${path}?done=${url.searchParams.get('done')}`;
  const text = new Map(Object.entries(messages.done)).get(address);
  return text && html`<p class="notice good" role="status" tabindex="-1" autofocus>${text}</p>`;
}

/** A page for visitors, as wide as the pages of members. */
export function publicPage(context: LayoutContext, title: string, content: Html): PageResponse {
  const { messages, tools } = context;
  const page = html`
<header class="bar">
  <div class="bar-inner">
    ${brand(context)}
    <p class="visitor">
      <a class="button small quiet" href="${tools.base}/sign-in">${messages.signIn}</a>
      ${tools.config.signUp === 'open' && html`<a class="button small" href="${tools.base}/sign-up">${messages.signUp}</a>`}
    </p>
  </div>
</header>
<main id="main" tabindex="-1">${content}</main>`;
  return respondWith(context, { title }, page);
}

/** A page with one card in its middle, for users who are not signed in. */
export function cardPage(
  context: LayoutContext,
  page: PageOptions & { lead?: HtmlValue; body?: HtmlValue; after?: HtmlValue },
): PageResponse {
  const content = html`
<main id="main" class="centre" tabindex="-1">
  ${brand(context)}
  <section class="card sheet">
    <h1>${page.title}</h1>
    ${page.lead !== undefined && html`<p class="lead">${page.lead}</p>`}
    ${doneNotice(context)}
    ${page.body}
  </section>
  ${page.after && html`<p class="below">${page.after}</p>`}
</main>`;
  return respondWith(context, page, content);
}

/** The same page in the other language. */
function languageLink({ messages, url }: LayoutContext): HtmlValue {
  if (url === undefined) return null;
  const other = messages.lang === 'en' ? 'pt' : 'en';
  return html`<a href="?lang=${other}${keptQuery(url).replace('?', '&')}" hreflang="${other}" lang="${other}">${messages.otherLanguage}</a>`;
}

function footer(context: LayoutContext): Html {
  const { messages, tools } = context;
  const { contact, privacyUrl, termsUrl, statusUrl } = tools.config;
  const links: [address: string | null, label: string][] = [
    // The navigation of members has it.
    ['account' in context ? null : `${tools.root}/openapi?lang=${messages.language}`, messages.reference],
    [contact, messages.contact],
    [privacyUrl, messages.privacy],
    [termsUrl, messages.terms],
    [statusUrl, messages.status],
  ];
  return html`<footer>${languageLink(context)} ${links.map(([address, label]) => address !== null && html`<a href="${address}">${label}</a> `)}</footer>`;
}

/** A page that only says something. @param again the way to send its request again */
export function messagePage(
  context: LayoutContext,
  status: number,
  title: string,
  lead: HtmlValue,
  headers: Record<string, string> = {},
  again: HtmlValue = null,
): PageResponse {
  const { messages, tools } = context;
  return cardPage(context, {
    title,
    lead,
    status,
    headers,
    body: html`${again}<p><a class="button${again && ' quiet'}" href="${tools.base}">${messages.back}</a></p>`,
  });
}

/** The page of an address that has none, or none for this member. */
export function notFoundPage(context: LayoutContext): PageResponse {
  return messagePage(context, 404, context.messages.notFound, context.messages.notFoundLead);
}

/** The page of a change that only owners of the account can make. */
export function ownersOnly(context: LayoutContext): PageResponse {
  return messagePage(context, 403, context.messages.ownersOnly, context.messages.ownersOnlyLead);
}

/** The name of the service, with its mark: lines of a register. @param address by default that of the front page */
function brand({ messages, tools }: LayoutContext, address = `${tools.root}/`): Html {
  return html`<a class="brand" href="${address}"><svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true"><rect width="32" height="32" rx="8"/><path fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" d="M9 10.5h14M9 16h9.5M9 21.5h5"/></svg><span>${messages.brand}</span></a>`;
}
