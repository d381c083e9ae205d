/**
 * Connects the OAuth client of the official Python SDK to a running service, as a member who signs in: from the first 401 to a paid call, a
 * refresh and the end of the connection. The TypeScript SDKs do the same in test/dashboard/connections/sdk.test.ts.
 *
 * Exit code 77 without Python, 1 when the client can't connect.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { consent, revoke } from '../test/dashboard/connections/agent.ts';
import { createVisitor, newPerson, signUp } from '../test/dashboard/visitor.ts';
import { startDemo } from './parts.ts';

const PYTHON = ['mcp==2.3.0'];

const CLIENT = `import asyncio
import sys

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

URL = sys.argv[1]


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def ask(line):
    print(line, flush=True)
    return (await asyncio.to_thread(sys.stdin.readline)).split()


async def redirect(url):
    global answer
    answer = await ask(f"authorize {url}")


async def callback():
    code, state, iss = answer
    return AuthorizationCodeResult(code=code, state=state, iss=iss)


async def call(provider):
    async with httpx2.AsyncClient(auth=provider, timeout=30) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            result = await client.call_tool("search_companies", {"q": "a"})
            assert not result.is_error, result


async def main():
    storage = Storage()
    provider = OAuthClientProvider(
        server_url=URL,
        client_metadata=OAuthClientMetadata(
            client_name="Python",
            redirect_uris=["http://127.0.0.1:1/callback"],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",
        ),
        storage=storage,
        redirect_handler=redirect,
        callback_handler=callback,
    )
    await call(provider)
    first = storage.tokens
    provider.context.token_expiry_time = 1  # as an hour later
    await call(provider)
    assert storage.tokens.access_token != first.access_token, "it was not refreshed"
    await ask(f"revoke {storage.tokens.refresh_token}")
    async with httpx2.AsyncClient() as http:
        token = f"Bearer {storage.tokens.access_token}"
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for _ in range(60):
            status = (await http.post(URL, headers={"Authorization": token}, json=body)).status_code
            if status == 401:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"it still works: {status}")


asyncio.run(main())
`;

const folder = await mkdtemp(join(tmpdir(), 'agents-'));
const demo = startDemo(folder, { OAUTH_REGISTRATION: 'on' });
try {
  process.exitCode = await check();
} finally {
  await demo.stop();
  await rm(folder, { recursive: true, force: true });
}

async function check(): Promise<number> {
  if (Bun.which('python3') === null) {
    console.log('skipped: python3 is missing');
    return 77;
  }
  const { url: baseUrl } = await demo.greeting();
  const visitor = createVisitor(baseUrl);
  const person = await signUp(visitor, newPerson());
  await run(['python3', '-m', 'venv', 'venv']);
  const bin = (name: string) => join(folder, 'venv/bin', name);
  await run([bin('pip'), 'install', '--quiet', '--disable-pip-version-check', ...PYTHON]);
  await Bun.write(join(folder, 'client.py'), CLIENT);
  const client = Bun.spawn([bin('python'), 'client.py', `${baseUrl}/mcp`], {
    cwd: folder,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  for await (const line of linesOf(client.stdout)) {
    const [asks, value = ''] = line.split(' ');
    if (asks === 'authorize') {
      const { pathname, search } = new URL(value);
      const page = (await visitor.get(pathname + search)).headers.get('location')!;
      const answer = new URL((await consent(visitor, person, page)).headers.get('location')!).searchParams;
      client.stdin.write(`${answer.get('code')} ${answer.get('state')} ${answer.get('iss')}\n`);
    } else {
      await revoke({ baseUrl }, value);
      client.stdin.write('done\n');
    }
    await client.stdin.flush();
  }
  if ((await client.exited) !== 0) throw new Error('the Python SDK did not connect');
  console.log('Python: connected, paid for two calls, refreshed, and was ended');
  return 0;
}

async function* linesOf(output: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    text = lines.pop()!;
    yield* lines;
  }
}

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { cwd: folder, stdout: 'inherit', stderr: 'inherit' });
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed`);
}
