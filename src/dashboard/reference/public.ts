import type { OpenApi } from '../../http/openapi.ts';
import { PROBLEMS, type ProblemName } from '../../http/problems.ts';
import { pathOf, searchOf } from '../../http/url.ts';
import type { LayoutContext, LayoutTools, MemberContext, PageResponse } from '../context.ts';
import { MESSAGES } from '../messages.ts';
import { cardPage, memberPage, notFoundPage, publicPage } from '../request/layout.ts';
import { respond } from '../request/respond.ts';
import { contactLink, type Html, type HtmlValue, html, pricesOf } from '../ui/html.ts';
import { languageIn, preferredLanguage } from '../ui/language.ts';
import { addressOf, problemsOf, problemText, prose, referenceBody } from './reference.ts';

/**
 * Pages of the service outside `/dashboard`, for anyone. Each is rendered once for each language, because requests for it need no
 * key and may be many.
 */
export function createPublicPages(tools: LayoutTools, document: OpenApi) {
  const made = new Map<string, Response>();
  const problems = new Set<string>(problemsOf(tools.config));

  function show(request: Request, name: string, make: (context: LayoutContext) => PageResponse): Response {
    const asked = languageIn(searchOf(request.url));
    const language = asked ?? preferredLanguage(request.headers.get('accept-language'));
    const acceptEncoding = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '') ? 'gzip' : '';
    const key = `${name} ${language} ${acceptEncoding}`;
    let response = made.get(key);
    if (response === undefined) {
      const messages = MESSAGES[language];
      // Without the query and the path, because the page is kept for other visitors.
      const context = { messages, tools, url: new URL(tools.publicUrl) };
      response = respond(make(context), { acceptEncoding, language: messages.lang });
      made.set(key, response);
    }
    return response.clone() as Response;
  }

  return {
    /** GET / of a browser */
    front: (request: Request) => show(request, 'front', (context) => frontPage(context, document)),
    /** GET /openapi */
    reference: (request: Request) =>
      show(request, 'reference', (context) => {
        const { messages } = context;
        return publicPage(context, messages.reference, referenceBody(messages, document, tools));
      }),
    /** GET /problems/:kind, the address that is the `type` of a problem. `null` for a kind that the service does not answer. */
    problem: (request: Request, kind: string) =>
      problems.has(kind) ? show(request, kind, (context) => problemPage(context, kind as ProblemName)) : null,
    /** The page of an address that has none; `null` for a client that asks for no page, or an address of the API. */
    notFound: (request: Request) =>
      request.method === 'GET' &&
      request.headers.get('accept')?.includes('text/html') &&
      !pathOf(request.url).startsWith('/api/')
        ? show(request, 'not-found page', notFoundPage)
        : null,
    /** The address of the icon, which browsers ask for at `/favicon.ico`. */
    icon: tools.assets.address('mark.svg'),
  };
}

function problemPage(context: LayoutContext, kind: ProblemName): PageResponse {
  const { messages, tools } = context;
  const { title, cause, fix } = problemText(kind, messages.language);
  const contact = contactLink(context);
  const body = html`
<h2>${messages.cause}</h2>
<p>${prose(cause)}</p>
<h2>${messages.whatToDo}</h2>
<p>${prose(fix)}</p>
${kind === 'monthly-quota-exceeded' && html`<p><a class="button" href="${buyOrCredits(tools)}">${messages.buyCredits}</a></p>`}
${contact && html`<p>${messages.contact}: ${contact}</p>`}
<p><a href="${tools.root}/openapi?lang=${messages.language}">${messages.reference}</a></p>`;
  return cardPage(context, {
    title,
    lead: html`<code>${kind}</code> · ${messages.statusCode} ${PROBLEMS[kind].status}`,
    body,
  });
}

/** Where credits are bought. An address that names the account is in the dashboard, because this page knows no account. */
function buyOrCredits({ config: { buyUrl }, base }: LayoutTools): string {
  return buyUrl === null || buyUrl.includes('{account}') ? `${base}/credits` : buyUrl;
}

/** GET /dashboard/reference: the same as `/openapi`, with the navigation of the dashboard. */
export async function showReference(context: MemberContext): Promise<PageResponse> {
  const { messages, tools } = context;
  const body = referenceBody(messages, tools.openApi, tools);
  return memberPage(context, { title: messages.reference, body });
}

/** The endpoint whose example says most about the service: the details of a company, with its debts. */
const EXAMPLE = '/companies/{nif}';

/** The example, and what the service costs. */
function about(context: LayoutContext, { paths, servers }: OpenApi): Html {
  const { messages } = context;
  const { parameters, responses } = paths[EXAMPLE]!.get!;
  const address = addressOf(new URL(servers[0]!.url).pathname, EXAMPLE, parameters);
  const answer = JSON.stringify(responses[200]!.content['application/json']!.example, null, 2);
  const prices = pricesOf(context);
  return html`
<section class="card about" aria-labelledby="about-title">
  <h2 id="about-title">${messages.exampleAnswer}</h2>
  <p><code>GET ${address}</code> <span class="badge">${messages.costs}</span></p>
  <pre lang="en" tabindex="0" role="group" aria-label="${messages.exampleAnswer}">${answer}</pre>
  <p class="hint">${messages.exampleInvented}</p>
  <p>${messages.aboutCost}</p>
  ${prices && html`<p>${prices}</p>`}
</section>`;
}

/** The way to an account, as far as sign-up is open. */
function waysIn(context: LayoutContext): HtmlValue {
  const { messages, tools } = context;
  const reference = html`<a class="button quiet" href="${tools.root}/openapi?lang=${messages.language}">${messages.reference}</a>`;
  return tools.config.signUp === 'open'
    ? html`<p class="actions"><a class="button" href="${tools.base}/sign-up">${messages.signUp}</a> ${reference}</p>`
    : html`<p>${messages.closed} ${contactLink(context)}</p><p class="actions">${reference}</p>`;
}

/** GET / of a browser. */
function frontPage(context: LayoutContext, document: OpenApi): PageResponse {
  const { messages } = context;
  const body = html`
<div class="front halves">
  <div>
    <h1>${messages.frontTitle}</h1>
    <p class="lead">${messages.aboutLead}</p>
    <p class="lead">${messages.aboutAgents}</p>
    ${waysIn(context)}
  </div>
  ${about(context, document)}
</div>`;
  return publicPage(context, messages.frontTitle, body);
}
