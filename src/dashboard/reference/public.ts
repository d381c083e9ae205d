import type { OpenApi } from '../../http/openapi.ts';
import { PROBLEMS, type ProblemName } from '../../http/problems.ts';
import { pathOf, searchOf } from '../../http/url.ts';
import type { LayoutContext, LayoutTools, MemberContext, PageResponse } from '../context.ts';
import { MESSAGES } from '../messages.ts';
import { cardPage, memberPage, notFoundPage, publicPage } from '../request/layout.ts';
import { respond } from '../request/respond.ts';
import { html } from '../ui/html.ts';
import { languageIn, preferredLanguage } from '../ui/language.ts';
import { contactLink } from '../ui/parts.ts';
import { frontPage } from './about.ts';
import { problemsOf, problemText, prose, referenceBody } from './reference.ts';

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
