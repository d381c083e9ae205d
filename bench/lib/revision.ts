import { join } from 'node:path';

const REPOSITORY = join(import.meta.dir, '../..');

/** Never moves, because `compare` runs each revision’s file from this path. */
export const SEED = 'bench/seed.ts';

/** A revision of this repository in a separate folder, its packages installed. */
export interface Checkout {
  folder: string;
  /** Abbreviated id of the commit, with its subject. */
  label: string;
  remove(): Promise<void>;
}

/** Checks a git revision out into `folder`, which must not exist. @throws Error with git's or bun's own words */
export async function checkOut(revision: string, folder: string): Promise<Checkout> {
  const label = await run(['git', 'log', '-1', '--format=%h %s', revision], REPOSITORY);
  await run(['git', 'worktree', 'add', '--detach', folder, revision], REPOSITORY);
  const remove = async () => void (await run(['git', 'worktree', 'remove', '--force', folder], REPOSITORY));
  try {
    await run([process.execPath, 'install', '--frozen-lockfile'], folder);
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, label, remove };
}

/** Runs a command to its end. @returns its standard output @throws Error with its standard error */
export async function run(
  command: string[],
  cwd: string,
  environment: Record<string, string> = {},
): Promise<string> {
  const child = Bun.spawn(command, {
    cwd,
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.slice(0, 3).join(' ')} failed: ${complaint.trim()}`);
  return output.trim();
}
