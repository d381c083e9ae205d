import type { OpenApi } from '../../http/openapi.ts';
import type { LayoutContext, PageResponse } from '../context.ts';
import { publicPage } from '../request/layout.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { contactLink } from '../ui/parts.ts';

/** The operation whose example says most about the service: the details of a company, with its debts. */
const EXAMPLE = 'getCompany';

/** An example of the reference: the request as it is sent, and its answer. */
function exampleOf({ paths, servers }: OpenApi): { request: string; answer: string } {
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { operationId, parameters, responses }] of Object.entries(methods))
      if (operationId === EXAMPLE) {
        const address = parameters.reduce(
          (address, { name, example }) => address.replace(`{${name}}`, example),
          new URL(servers[0]!.url).pathname + path,
        );
        const { example } = responses[200]!.content['application/json']!;
        return { request: `${method.toUpperCase()} ${address}`, answer: JSON.stringify(example, null, 2) };
      }
  throw new Error(`the document has no operation ${EXAMPLE}`);
}

/** The example, and what the service costs. */
function about({ messages, tools }: LayoutContext, document: OpenApi): Html {
  const { request, answer } = exampleOf(document);
  const { plusPrice, creditsPrice } = tools.config;
  const prices = [
    plusPrice !== null && `${messages.plans.plus}: ${plusPrice[messages.language]}`,
    creditsPrice !== null && `${messages.credits}: ${creditsPrice[messages.language]}`,
  ].filter(Boolean);
  return html`
<section class="card about" aria-labelledby="about-title">
  <h2 id="about-title">${messages.exampleAnswer}</h2>
  <p><code>${request}</code> <span class="badge">${messages.costs}</span></p>
  <pre lang="en" tabindex="0" role="group" aria-label="${messages.exampleAnswer}">${answer}</pre>
  <p class="hint">${messages.exampleInvented}</p>
  <p>${messages.aboutCost}</p>
  ${prices.length > 0 && html`<p>${prices.join(' · ')}</p>`}
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
export function frontPage(context: LayoutContext, document: OpenApi): PageResponse {
  const { messages } = context;
  const body = html`
<div class="front">
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
