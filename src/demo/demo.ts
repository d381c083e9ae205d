import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { aborted } from 'node:util';
import { NEVER_ABORTED } from '../companies/directory/directory-context.ts';
import { importCompanies } from '../companies/directory/directory-import.ts';
import { readDirectory } from '../companies/directory/generations.ts';
import { openRows } from '../companies/ingest/open-rows.ts';
import { rowSource } from '../companies/ingest/source.ts';
import { createUser } from '../dashboard/account/invitations.ts';
import { createAccount } from '../metering/accounts/account-store.ts';
import { createKey } from '../metering/keys/key-store.ts';
import { generateSecret } from '../metering/keys/secret.ts';
import { type Config, readConfig } from '../platform/config/config.ts';
import { creditsPrice } from '../platform/config/environment.ts';
import type { Sql } from '../platform/postgres/connect.ts';
import { openStores } from '../platform/stores/stores.ts';
import { fail, runToExit } from '../platform/terminal/command.ts';
import { watchInterrupts } from '../platform/terminal/interrupt.ts';
import { withProgress } from '../platform/terminal/progress.ts';
import { startService } from '../service/serve.ts';
import { EXAMPLE_DEBTORS, IMPORT_NEXT, importExampleDebts } from './example-debts.ts';

const EXAMPLE_FILE = join(import.meta.dir, '..', '..', 'examples', 'companies.csv');
const ACTOR = 'demo';

/** Not the folder of an installation, whose directory the examples would change. */
const DATA_DIR = '.data/demo';

/**
 * `bun run demo`: the whole service without any server around it, on the example directory, with an account to try it.
 * Stops on Ctrl-C, and on a signal that `bun run` passes on; its data stays in DATA_DIR.
 */
async function demo(): Promise<void> {
  const { signal } = watchInterrupts();
  const names = await exampleNames();
  const provider = startExampleProvider(names);
  const config = demoConfig(provider.url);
  const stores = await openStores(config);
  try {
    const tools = { ...stores, config, signal: NEVER_ABORTED, actor: ACTOR };
    // Companies that the user has imported, or removed, stay so.
    if ((await readDirectory(stores.sql)).current.origin === 'empty')
      await withProgress(
        (progress) => importCompanies(tools, rowSource(EXAMPLE_FILE), {}, progress),
        NEVER_ABORTED,
      );
    const hasExampleDebts = await withProgress(
      (progress) => importExampleDebts(tools, progress),
      NEVER_ABORTED,
    );
    const service = await startService(config, { logTo: 'stderr', signal });
    process.stdout.write(
      greeting(service.publicUrl, await createAccess(stores.sql), names, config, hasExampleDebts),
    );
    await aborted(signal, signal);
    await service.stop();
  } finally {
    await stores.close();
    await provider.stop();
  }
}

/** The variables that the demo reads: its address, the folder of its data, and whether agents may register themselves. */
const OWN_VARIABLES = ['HOST', 'PORT', 'DATA_DIR', 'OAUTH_REGISTRATION'];

/**
 * The defaults, with the example provider, example prices and open sign-up. Variables of a shell or a `.env` for another service are not read,
 * because the curl lines would send the key to its PUBLIC_URL, and its sources could end the start.
 */
function demoConfig(providerUrl: string): Config {
  const own = Object.fromEntries(OWN_VARIABLES.map((name) => [name, process.env[name]]));
  own.DATA_DIR ||= DATA_DIR;
  return { ...readConfig(own), ...EXAMPLE_PRICES, nifPtUrl: providerUrl, registry: 'none', signUp: 'open' };
}

/** The dashboard shows them beside what a customer has left. */
const EXAMPLE_PRICES = {
  plusPrice: { en: '€29 a month', pt: '29 € por mês' },
  creditsPrice: creditsPrice('CREDITS_PRICE', '10 EUR 1000'),
  contact: 'mailto:sales@example.com',
};

type Access = Awaited<ReturnType<typeof createAccess>>;

/** @returns the secrets of an API key and a test key, and a way into the dashboard */
async function createAccess(sql: Sql) {
  const account = await createAccount(sql, { name: 'Demo', plan: 'free' }, ACTOR);
  const { secret } = await createKey(sql, account.id, 'demo', ACTOR);
  const test = await createKey(sql, account.id, 'test', ACTOR, null, generateSecret(undefined, true));
  // An email belongs to one account, and DATA_DIR outlives the run.
  const email = `demo-${account.id.slice(-6)}@example.com`;
  const password = randomBytes(9).toString('base64url');
  await createUser(sql, account.id, { name: 'Demo', email, password }, ACTOR);
  return { secret, testSecret: test.secret, email, password };
}

async function exampleNames(): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const reader = await openRows({ path: EXAMPLE_FILE }, ['nif', 'legal_name']);
  for await (const { rows } of reader.batches) {
    for (const { values } of rows) names.set(values[0] ?? '', values[1] ?? '');
  }
  return names;
}

function greeting(
  publicUrl: string,
  { secret, testSecret, email, password }: Access,
  names: Map<string, string>,
  { dataDir }: Config,
  hasExampleDebts: boolean,
): string {
  const [nif, other] = names.keys();
  const screened = JSON.stringify({ nifs: [...EXAMPLE_DEBTORS, nif, other] });
  const call = (path: string, options = '') =>
    `curl -s -H "Authorization: Bearer ${secret}"${options} "${publicUrl}/api/v1${path}"`;
  const post = (path: string, body: string) =>
    call(path, ` -H "Content-Type: application/json" -d '${body}'`);
  // The variables of a shell or a `.env` for another service don't count here either. Not the package's script `directory`,
  // which needs `bun` on the PATH: `npx bun` leaves none there.
  const importNext = `DATABASE_URL= DATA_DIR=${quoted(dataDir)} ${quoted(process.execPath)} src/main.ts ${IMPORT_NEXT}`;
  const changes = `
Import a later list, in which one company is new, one has changed, and one is gone. Then ask for these changes:
${importNext} && ${post('/debts/changes', '{"after":null}')}
`;
  return `
The company directory is running at ${publicUrl}, with the names of ${names.size} real companies
(suppliers and buyers in Portuguese public contracts: IMPIC, Portal BASE open data).
Company details come from a small example provider that knows these companies by name and leaves the rest empty.

API key of the demo account (Free: 20 requests a minute, 500 credits a month):
${secret}

Test key: everything answers from invented companies, each problem at will, for no credit (docs/test-keys.md):
${testSecret}

Both lists of debtors have a few invented companies.

Search by the beginning of a name, look a company up, and see what it cost. Then screen five companies for debts:
${call('/companies?q=constru')}
${call(`/companies/${nif}`)}
${call('/usage')}
${post('/debts', screened)}
${hasExampleDebts ? changes : ''}
For agents: ${publicUrl}/mcp (Model Context Protocol), for instance
claude mcp add --transport http company-directory ${publicUrl}/mcp --header "Authorization: Bearer ${secret}"

Dashboard: ${publicUrl}/dashboard
  email ${email}, password ${password}
Reference: ${publicUrl}/openapi
Ctrl-C stops it. Its data stays in ${dataDir}.
`;
}

/** A word of a shell's command. */
function quoted(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * A small data provider in nif.pt's format, for the demo. It answers for the companies of the example directory with their
 * names, and leaves all other members empty rather than invent them.
 *
 * @param names legal names by NIF
 */
function startExampleProvider(names: Map<string, string>) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const nif = new URL(request.url).searchParams.get('q') ?? '';
      const name = names.get(nif);
      if (name === undefined) return Response.json({ result: 'error', message: 'No records found' });
      return Response.json({
        result: 'success',
        records: { [nif]: { nif: Number(nif), title: name } },
        nif_validation: true,
        is_nif: true,
        credits: { used: 'free', left: [] },
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/`, stop: () => server.stop(true) };
}

await runToExit(() => demo().catch(fail));
