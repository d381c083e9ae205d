/** The protocol's own conformance suite: every scenario for servers that applies to a server with tools alone passes. */
import { expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import { startApi } from '../support/api.ts';
import { bareEnvironment } from '../support/command.ts';
import { csv } from '../support/companies.ts';
import { createFolder } from '../support/folder.ts';

const APPLY = [
  'server-initialize',
  'ping',
  'tools-list',
  'dns-rebinding-protection',
  // A server may do without streams; these see that it does.
  'server-sse-polling',
  'server-sse-multiple-streams',
];

/** Why a scenario does not apply. Each fails, because the suite has no way to leave one out. */
const DO_NOT_APPLY: Record<string, string[]> = {
  'they call a tool of the reference server': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-error',
    'json-schema-2020-12',
  ],
  'the server sends nothing but results: no log lines, no progress': [
    'logging-set-level',
    'tools-call-with-logging',
    'tools-call-with-progress',
  ],
  'the server asks its client nothing': [
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
  ],
  'the server has tools alone: no resources, prompts or completions': [
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
    'completion-complete',
  ],
};

test('every scenario passes that applies, and the list of the others is complete', async () => {
  const api = await startApi({ directory: csv(1, 4) });
  const { key } = await api.caller({ limits: { requestsPerMinute: 6000 } });
  // The suite can't send a key.
  const withKey = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const headers = new Headers(request.headers);
      headers.set('Authorization', `Bearer ${key}`);
      headers.delete('Host');
      return fetch(`${api.baseUrl}/mcp`, { method: request.method, headers, body: request.body });
    },
  });
  const folder = createFolder('conformance');
  try {
    const suite = Bun.spawn(
      [
        process.execPath,
        fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js')),
        ...['server', '--url', `http://127.0.0.1:${withKey.port}/mcp`, '--suite', 'all'],
        ...['--output-dir', folder],
      ],
      { cwd: folder, env: bareEnvironment(), stdout: 'pipe', stderr: 'ignore' },
    );
    const report = await new Response(suite.stdout).text();
    const outcomes = [...report.matchAll(/^([✓✗]) ([\w-]+): /gm)].map(([, mark, name]) => `${mark} ${name}`);
    const others = Object.values(DO_NOT_APPLY).flat();
    expect(outcomes.sort()).toEqual(
      [...APPLY.map((name) => `✓ ${name}`), ...others.map((name) => `✗ ${name}`)].sort(),
    );
  } finally {
    await withKey.stop(true);
    await api.stop();
  }
});
