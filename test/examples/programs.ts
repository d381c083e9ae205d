/** The programs in `examples`, as a customer runs them, in every language that this machine has. */
import { copyFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../src/http/problems.ts';
import { type Api, startApi } from '../support/api.ts';
import { bareEnvironment, outcomeOf, ROOT } from '../support/command.ts';
import { nif } from '../support/companies.ts';
import { createFolder } from '../support/folder.ts';
import { nifPtFound } from '../support/provider.ts';
import { createTestKey } from '../support/service.ts';
import { importAnswers } from '../support/whole.ts';

const EXAMPLES = join(ROOT, 'examples');
const DIRECTORY = `nif,legal_name
500002576,"Ábaco & Filhos, Lda"
500002568,Abacate Lda
${nif(900)},"Caracol ""Doce"" \\ Filhos, Lda"
`;

export const COMPANIES = Array.from({ length: 250 }, (_, n) => nif(n));
/** A file of them. */
export const SUPPLIERS = `Fornecedor;NIPC;Desde\n${COMPANIES.map((company, n) => `"A ${n}; Lda";${company};2020-01-01\n`).join('')}`;

type Program = 'companies' | 'resolve' | 'screen' | 'follow' | 'openrefine';

/** How programs are run. Python and jq are only used where they are installed: no other part of the project needs one. */
const languages: Record<string, (program: Program) => string[]> = {
  TypeScript: (program) => [process.execPath, `${program}.ts`],
};
if (Bun.which('jq')) {
  languages.shell = (program) => ['sh', join(EXAMPLES, `shell/${program}.sh`)];
}
if (Bun.which('python3')) {
  languages.Python = (program) => ['python3', join(EXAMPLES, `python/${program}.py`)];
}
export const LANGUAGES = Object.keys(languages);

export interface RunOptions {
  program?: Program;
  words?: string[];
  first?: Problem[];
  /** The requests, from 1 on, whose answers are lost on their way. */
  lost?: number[];
  /** The program is killed, with SIGKILL, when it has sent so many requests. The last of them never arrives. */
  killAt?: number;
}

export type Files = Awaited<ReturnType<Awaited<ReturnType<typeof startExamples>>['withFile']>>;

/** A service with a directory of three companies, and the programs in a folder of the test. */
export async function startExamples() {
  const api = await startApi({ directory: DIRECTORY });
  for (const nif of ['500002576', '500002568']) api.provider.answer(nif, nifPtFound(nif));
  const folder = createFolder('examples');
  for (const name of await readdir(join(EXAMPLES, 'typescript'))) {
    if (!['node_modules', 'api.d.ts'].includes(name)) {
      await copyFile(join(EXAMPLES, 'typescript', name), join(folder, name));
    }
  }
  const spawn = (words: string[], variables: Record<string, string>) =>
    Bun.spawn(words, {
      cwd: folder,
      env: { ...bareEnvironment(), ...variables },
      stdout: 'pipe',
      stderr: 'pipe',
    });
  const inFolder = (...words: string[]) =>
    outcomeOf(spawn([process.execPath, ...words], { DIRECTORY_URL: api.baseUrl }));
  const install = await inFolder('install', '--frozen-lockfile');
  if (install.code !== 0) throw new Error(`the packages of the TypeScript example: ${install.stderr}`);

  function start(url: string, language: string, key: string, options: RunOptions) {
    const { program = 'companies', words = ['padaria áb'] } = options;
    return spawn([...languages[language]!(program), ...words], { DIRECTORY_URL: url, API_KEY: key });
  }

  async function run(language: string, key: string, options: RunOptions = {}) {
    const front = startFront(api, key, options, async (count) => {
      if (count !== options.killAt) return false;
      child.kill('SIGKILL');
      await child.exited;
      return true;
    });
    const child = start(front.url, language, key, options);
    const outcome = await outcomeOf(child);
    await front.stop();
    return { ...outcome, requests: front.requests };
  }

  /** A new caller, a file of companies, and the file that a program writes and goes on with. */
  async function withFile(language: string, text: string, included = 10_000) {
    const caller = await api.caller({ limits: { requestsPerMinute: 1000 }, included });
    const [input, out] = [join(folder, 'input.csv'), join(folder, `${caller.accountId}.out`)];
    await Bun.write(input, text);
    const words = [input, out];
    return {
      ...{ caller, input, out, words },
      lines: async () => (await Bun.file(out).text()).trimEnd().split('\n'),
      used: async () => (await api.ledger(caller)).used,
      run: (program: Program, options: RunOptions = {}) =>
        run(language, caller.key, { program, words, ...options }),
      /** With a test key. */
      runFree: async (program: Program) =>
        run(language, await createTestKey(api.sql, caller.accountId), { program, words }),
    };
  }

  return { api, inFolder, start, run, withFile };
}

/**
 * The service behind an address that answers `first` to the first requests of a key, and loses those for which `isLost` says so. Ports
 * are used again, so a client of an earlier test may ask here: it is told that nothing is here, and isn't counted.
 */
function startFront(
  api: Api,
  key: string,
  { first = [], lost = [] }: RunOptions,
  isLost: (count: number) => Promise<boolean>,
) {
  const problems = [...first];
  const requests: { path: string; atMs: number }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (request.headers.get('authorization') !== `Bearer ${key}`)
        return new Response(null, { status: 404 });
      const { pathname, search } = new URL(request.url);
      requests.push({ path: pathname, atMs: performance.now() });
      const problem = problems.shift();
      if (problem) return (await importAnswers()).responseTo(api.baseUrl, { ok: false, problem });
      if (await isLost(requests.length)) return new Response(null, { status: 504 });
      const { method, headers } = request;
      const body = method === 'POST' ? await request.text() : null;
      const count = requests.length;
      const answer = await fetch(api.baseUrl + pathname + search, { method, headers, body });
      if (!lost.includes(count)) return answer;
      await answer.bytes();
      return new Response(new ReadableStream({ pull: (stream) => stream.error() }));
    },
  });
  return { requests, url: server.url.origin, stop: () => server.stop(true) };
}
