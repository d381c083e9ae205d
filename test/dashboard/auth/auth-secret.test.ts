import { beforeEach, expect, test } from 'bun:test';
import { chmod, chown, link, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keptAuthSecret } from '../../../src/dashboard/auth/auth-secret.ts';
import { createFolder } from '../../support/folder.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor } from '../visitor.ts';

const SECRET = 'a secret that another user of this machine knows';

const folder = createFolder('auth-secret');
const elsewhere = join(folder, 'elsewhere');
await writeFile(elsewhere, SECRET, { mode: 0o644 });
let dataDir: string;
let kept: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(folder, 'data-'));
  kept = join(dataDir, 'auth-secret');
});

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

test('one that is made in DATA_DIR is its owner’s alone, and outlives a restart; with another one a session is none', async () => {
  const start = (more = {}) => startDashboardService({ DATA_DIR: dataDir, AUTH_SECRET: '', ...more });
  await using first = await start();
  const secret = await readFile(kept, 'utf8');
  expect([secret.trim().length >= 43, await modeOf(kept)]).toEqual([true, 0o600]);
  const { visitor } = await createMember({ ...first, config: { authSecret: secret.trim() } });
  await chmod(kept, 0o644);
  await using again = await start({ DATABASE_URL: first.databaseUrl });
  expect([await readFile(kept, 'utf8'), await modeOf(kept)]).toEqual([secret, 0o600]);
  await using other = await start({ DATABASE_URL: first.databaseUrl, AUTH_SECRET: 'y'.repeat(40) });
  for (const [{ baseUrl }, status] of [
    [first, 200],
    [again, 200],
    [other, 303],
  ] as const) {
    const returning = createVisitor(baseUrl, { copied: visitor.cookies });
    expect((await returning.get('/dashboard')).status).toBe(status);
  }
});

test.each<[string, () => Promise<unknown>, string]>([
  ['a link', () => symlink(elsewhere, kept), 'is a link: remove it'],
  ['a link that leads nowhere', () => symlink(join(folder, 'nowhere'), kept), 'is a link: remove it'],
  ['a second name of a file that others can read', () => link(elsewhere, kept), 'is not a file of this user'],
  ['a folder', () => mkdir(kept), 'is not a file of this user'],
])('%s in its place is refused, and what it leads to keeps its mode', async (_, make, reason) => {
  await make();
  await expect(keptAuthSecret(dataDir)).rejects.toThrow(`${kept} ${reason}`);
  expect([await modeOf(elsewhere), await readFile(elsewhere, 'utf8')]).toEqual([0o644, SECRET]);
});

test("another user's file is refused, but root reads that of the owner of DATA_DIR", async () => {
  await writeFile(kept, SECRET, { mode: 0o600 });
  // Only root can give a file away. For any other user a file of root is one of another user.
  if (process.geteuid?.() === 0) await chown(kept, 65_534, 65_534);
  else await rm(kept).then(() => link('/etc/hostname', kept).catch(() => symlink('/etc/hostname', kept)));
  await expect(keptAuthSecret(dataDir)).rejects.toThrow(/is (not a file of this user|a link): remove it/);
  if (process.geteuid?.() !== 0) return;
  await chown(dataDir, 65_534, 65_534);
  expect(await keptAuthSecret(dataDir)).toBe(SECRET);
});

test('processes that start at once keep one secret; a damaged one is refused, not replaced', async () => {
  const secrets = await Promise.all(Array.from({ length: 8 }, () => keptAuthSecret(dataDir)));
  expect(new Set(secrets).size).toBe(1);
  await writeFile(kept, 'short');
  await expect(keptAuthSecret(dataDir)).rejects.toThrow('is damaged');
});
