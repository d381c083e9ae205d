import { type ApiRoute, BASE_PATH, costOf, methodOf, templateOf } from './api-route.ts';
import { escapeHtml, htmlPage, paragraphs } from './html.ts';
import { parametersOf } from './openapi.ts';
import { PROBLEMS, type ProblemName } from './problems.ts';

/**
 * The page of a problem's `type`, with cause and fix; `null` for a kind that isn't in the catalogue. Its links are relative,
 * because PUBLIC_URL may have a path.
 *
 * @param contact the operator's `mailto:` or web address
 */
export function problemPage(name: string, contact: string | null = null): Response | null {
  if (!Object.hasOwn(PROBLEMS, name)) return null;
  const { status, title, cause, fix } = PROBLEMS[name as ProblemName];
  return htmlPage(
    title,
    `<h1>${escapeHtml(title)}</h1>
<p><code>${name}</code>, status ${status}</p>
<h2>Cause</h2>${paragraphs(cause)}
<h2>What to do</h2>${paragraphs(fix)}
${contact === null ? '' : `<p>Contact: <a href="${escapeHtml(contact)}">${escapeHtml(contact.replace(/^mailto:/i, ''))}</a></p>`}
<p><a href="../openapi">Reference</a></p>`,
  );
}

/** The readable reference, from the same routes as the OpenAPI document. */
export function referencePage(
  publicUrl: string,
  routes: ApiRoute[],
  document: Record<string, unknown>,
): Response {
  const { schemas } = document.components as { schemas: Record<string, unknown> };
  return htmlPage(
    'Company Directory API',
    `<h1>Company Directory API</h1>
<p>Base address: <code>${escapeHtml(publicUrl + BASE_PATH)}</code>. Every request carries
<code>Authorization: Bearer svc_…</code>. The machine-readable reference is <a href="openapi/json">/openapi/json</a> (OpenAPI 3.1), for
generators such as <code>openapi-typescript</code>. The folder <code>examples</code> of the source has programs in TypeScript, Python and shell
that wait, retry and tell problems apart.</p>
${routes.map((route) => describeRoute(publicUrl, route)).join('\n')}
<h2 id="problems">Problems</h2>
<p>Failures are <code>application/problem+json</code> (RFC 9457). The last segment of <code>type</code> is the kind.</p>
<div class="scroll"><table><tr><th>Status</th><th>Kind</th><th>Cause</th></tr>
${Object.entries(PROBLEMS)
  .map(
    ([kind, problem]) =>
      `<tr><td>${problem.status}</td><td><a href="problems/${kind}"><code>${kind}</code></a></td><td>${paragraphs(problem.cause)}</td></tr>`,
  )
  .join('\n')}
</table></div>
<h2 id="schemas">Schemas</h2>
${Object.entries(schemas)
  .map(
    ([name, schema]) =>
      `<h3 id="${name}">${name}</h3><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`,
  )
  .join('\n')}`,
  );
}

function describeRoute(publicUrl: string, route: ApiRoute): string {
  const { operationId, summary, description } = route.detail;
  const ofBody = Object.entries(route.body?.properties ?? {}).map(([name, schema]) => ({
    name,
    place: 'body',
    schema: schema as { description: string },
  }));
  const rows = [...parametersOf(route), ...ofBody].map(
    ({ name, place, schema }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${place}</td><td>${paragraphs(schema.description)}</td></tr>`,
  );
  return `<h2 id="${operationId}">${escapeHtml(summary)}</h2>
<p><code>${methodOf(route)} ${escapeHtml(BASE_PATH + templateOf(route.path))}</code>, ${costOf(route)}</p>
${paragraphs(description)}
${rows.length === 0 ? '' : `<div class="scroll"><table><tr><th>Parameter</th><th>In</th><th>Meaning</th></tr>${rows.join('')}</table></div>`}
<p>Answers <a href="#${route.success.$id}"><code>${route.success.$id}</code></a>, or one of
${route.problems.map((kind) => `<code>${kind}</code>`).join(', ') || 'the problems of every endpoint'}.</p>
<pre>${escapeHtml(exampleCall(publicUrl, route))}</pre>`;
}

/** A call that works as it stands, with the key in $KEY. */
function exampleCall(publicUrl: string, route: ApiRoute): string {
  let { path } = route;
  const query: string[] = [];
  for (const { name, place, schema } of parametersOf(route)) {
    const example = encodeURIComponent(schema.examples[0]);
    if (place === 'path') path = path.replace(`:${name}`, example);
    else query.push(`${name}=${example}`);
  }
  const suffix = query.length === 0 ? '' : `?${query.join('&')}`;
  const body =
    route.body === undefined
      ? ''
      : `-H "Content-Type: application/json" -d '${JSON.stringify(route.body.examples[0])}' `;
  return `curl -H "Authorization: Bearer $KEY" ${body}"${publicUrl}${BASE_PATH}${path}${suffix}"`;
}
