/** Escapes text for HTML content and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Escaped text with `code` in backticks, and blank lines as paragraphs. */
export function paragraphs(text: string): string {
  return text
    .split('\n\n')
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('\n');
}

function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif; }
body { max-width: 52rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
code, pre { font: 0.9em/1.5 ui-monospace, monospace; }
pre { padding: 0.8rem 1rem; overflow-x: auto; border: 1px solid #8884; border-radius: 6px; }
table { border-collapse: collapse; width: 100%; } .scroll { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.8rem 0.35rem 0; border-bottom: 1px solid #8884; }
td p { margin: 0 0 0.4rem; }
a { color: light-dark(#0b57d0, #8ab4f8); }
`;

/** A whole page without any other resource. */
export function htmlPage(title: string, body: string, status = 200): Response {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>
${body}
</body></html>
`;
  return new Response(html, {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    },
  });
}
