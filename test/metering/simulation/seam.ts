/**
 * Loads the source of the service for a simulation. A statement of the ledger is a function that takes `sql` first. Here a call of it goes
 * to `sql.statement` with its name, so that a store knows statements by names and arguments, never by their text. A planted fault is a
 * replacement in the source.
 *
 * Call `loadBySeam` before anything of `src` is imported.
 */
import { plugin } from 'bun';

/** Runs a statement by its name; `run` sends it to a real Postgres. */
export type Statement = (
  name: string,
  args: unknown[],
  run: (sql: unknown) => PromiseLike<unknown>,
) => unknown;

/** The functions that are statements, by their file in src/metering. */
const STATEMENTS: Record<string, string[]> = {
  'accounts/locked.ts': ['lockBalance', 'findLocked'],
  'credits/activity.ts': ['makeActivityDays'],
  'credits/charge-batch.ts': ['chargeAtOnce', 'chargeCalls'],
  'credits/claim.ts': ['claimRequest', 'releaseClaim', 'endClaim', 'voidSending'],
  'credits/left.ts': ['readLeft'],
  'credits/refund.ts': ['voidAttempt', 'refundCredits', 'owedRows', 'refundRows'],
  'credits/rollup.ts': ['rollUpCalls', 'purgeJournal'],
  'keys/authenticate.ts': ['callersQuery'],
  'keys/limit-key.ts': ['settleBudgets'],
};

export interface Patch {
  /** In src/metering, or a function in the database. */
  file: string;
  from: string;
  to: string;
}

const METERING = new URL('../../../src/metering/', import.meta.url).pathname;

/** @throws Error (at the import) if the source lacks a statement, or the text of a patch */
export function loadBySeam(fault?: Patch): void {
  Object.assign(globalThis, { runStatement });
  plugin({
    name: 'simulation',
    setup(build) {
      build.onLoad({ filter: /\/src\/metering\/.*\.ts$/ }, async ({ path }) => {
        const file = path.slice(METERING.length);
        let contents = await Bun.file(path).text();
        if (fault?.file === file) contents = replaced(contents, fault);
        for (const name of STATEMENTS[file] ?? []) contents = withSeam(file, contents, name);
        return { contents, loader: 'ts' };
      });
    },
  });
}

export function replaced(contents: string, { file, from, to }: Patch): string {
  if (contents.split(from).length !== 2) throw new Error(`${file} does not have once: ${from}`);
  return contents.replace(from, () => to);
}

/** The module with a function of this name that goes by the seam to the real one, `name$`. */
function withSeam(file: string, contents: string, name: string): string {
  const through = `(...all) { return runStatement('${name}', all, ${name}$); }`;
  const declared = new RegExp(`^(export )?(async )?function ${name}\\b`, 'm');
  if (declared.test(contents))
    return contents.replace(
      declared,
      (_, exported = '', async = '') => `${exported}function ${name}${through}\n${async}function ${name}$`,
    );
  const assigned = new RegExp(`^(export )?const ${name} = `, 'm');
  if (!assigned.test(contents)) throw new Error(`${file} has no statement ${name}`);
  return contents.replace(
    assigned,
    (_, exported = '') => `${exported}function ${name}${through}\nconst ${name}$ = `,
  );
}

function runStatement(name: string, [sql, ...args]: unknown[], real: (...all: unknown[]) => unknown) {
  const run = (on: unknown) => real(on, ...args) as PromiseLike<unknown>;
  const { statement } = sql as { statement?: Statement };
  return statement === undefined ? run(sql) : statement(name, args, run);
}
