import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isReachable } from './folders.ts';
import { majorVersion } from './jdk.ts';
import { endLeftBehind } from './left-behind.ts';
import { withLock } from './lock.ts';
import { run } from './processes.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parts-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('majorVersion', () => {
  const jdk = (name: string, release?: string) => {
    const home = join(folder, name);
    mkdirSync(join(home, 'bin'), { recursive: true });
    writeFileSync(join(home, 'bin/java'), '');
    if (release) writeFileSync(join(home, 'release'), release);
    return home;
  };

  test.each([
    ['IMPLEMENTOR="Eclipse Adoptium"\nJAVA_VERSION="25.0.1"\n', 25],
    ['JAVA_VERSION="21"\n', 21],
    ['JAVA_VERSION="1.8.0_392"\n', 8],
    ['IMPLEMENTOR="nobody"\n', undefined],
  ])('reads %j as %p', (release, expected) => {
    expect(majorVersion(jdk(`jdk-${Math.random()}`, release))).toBe(expected);
  });

  test('is undefined without a release file and without a java program', () => {
    expect(majorVersion(jdk('jdk-without-release'))).toBeUndefined();
    expect(majorVersion(join(folder, 'nothing'))).toBeUndefined();
  });
});

describe('endLeftBehind', () => {
  test('kills and names what has the id of the run, or works in a folder of it, and nothing else', async () => {
    const id = `left${process.pid}`;
    const workplace = join(folder, `data-${id}-x`);
    mkdirSync(workplace);
    const sleep = (env: Record<string, string>, cwd = folder) =>
      Bun.spawn(['/bin/sleep', '600'], { env, cwd, stdout: 'ignore' });
    const left = [sleep({ TEST_RUN_ID: id }), sleep({}, workplace)];
    const other = sleep({ TEST_RUN_ID: `${id}0` });
    const expected = process.platform === 'linux' ? left.map(({ pid }) => `${pid} /bin/sleep 600`) : [];
    expect((await endLeftBehind(id, 0)).toSorted()).toEqual(expected.toSorted());
    for (const child of left) {
      if (process.platform !== 'linux') child.kill('SIGKILL');
      expect(await child.exited).toBe(128 + 9);
    }
    expect(await endLeftBehind(id)).toEqual([]);
    expect(other.killed).toBe(false);
    other.kill();
    await other.exited;
  });
});

describe('isReachable', () => {
  const user = { name: 'somebody', uid: 12_345, gid: 12_345 };

  test('a closed folder on the way hides everything below it, also what does not exist yet', () => {
    const closed = join(folder, 'closed');
    mkdirSync(join(closed, 'open'), { recursive: true });
    chmodSync(folder, 0o755);
    chmodSync(closed, 0o700);
    expect(isReachable(join(closed, 'open'), user)).toBe(false);
    expect(isReachable(join(closed, 'new/er'), user)).toBe(false);
    chmodSync(closed, 0o711);
    expect(isReachable(join(closed, 'open'), user)).toBe(true);
    expect(isReachable(join(closed, 'new/er'), user)).toBe(true);
  });

  test('without a user of their own the servers reach what we reach', () => {
    expect(isReachable(join(folder, 'closed'), undefined)).toBe(true);
  });
});

describe('withLock', () => {
  test('lets one in at a time and passes the result on', async () => {
    const file = join(folder, 'one.lock');
    let inside = 0;
    let waited = 0;
    const work = async (value: number) => {
      inside += 1;
      expect(inside).toBe(1);
      await Bun.sleep(20);
      inside -= 1;
      return value;
    };
    const enter = (value: number) =>
      withLock(
        file,
        () => {
          waited += 1;
        },
        () => work(value),
      );
    expect(await Promise.all([enter(1), enter(2), enter(3)])).toEqual([1, 2, 3]);
    expect(waited).toBe(2);
  });

  test('is free again after work that failed', async () => {
    const file = join(folder, 'failed.lock');
    const fail = () => Promise.reject(new Error('no luck'));
    await expect(withLock(file, () => {}, fail)).rejects.toThrow('no luck');
    expect(
      await withLock(
        file,
        () => expect.unreachable(),
        async () => 'in',
      ),
    ).toBe('in');
  });

  test('is free again after its holder was killed', async () => {
    const file = join(folder, 'killed.lock');
    const holder = Bun.spawn(
      [
        process.execPath,
        '-e',
        `const { withLock } = await import(${JSON.stringify(join(import.meta.dir, 'lock.ts'))});
         await withLock(${JSON.stringify(file)}, () => {}, async () => { console.log('held'); await Bun.sleep(60_000); });`,
      ],
      { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' },
    );
    await holder.stdout.getReader().read();
    let waited = false;
    const entered = withLock(
      file,
      () => {
        waited = true;
      },
      async () => 'in',
    );
    expect(waited).toBe(true);
    holder.kill('SIGKILL');
    expect(await entered).toBe('in');
  });
});

describe('run', () => {
  test('resolves with what the command printed', async () => {
    expect(await run({ command: 'sh', args: ['-c', 'echo out; echo err >&2'] }, 5000)).toMatch(/out|err/);
  });

  test('rejects with the exit code and the last lines of a command that fails', async () => {
    await expect(run({ command: 'sh', args: ['-c', 'echo why; exit 3'] }, 5000)).rejects.toThrow(
      /exit code 3\nwhy/,
    );
  });

  test('rejects when the program does not exist', async () => {
    await expect(run({ command: '/does/not/exist', args: [] }, 5000)).rejects.toThrow('/does/not/exist');
  });

  test('kills a command and its children after the time limit, or when aborted', async () => {
    const sleeping = { command: 'sh', args: ['-c', 'sleep 60; true'] };
    await expect(run(sleeping, 50)).rejects.toThrow('time limit');
    const abort = new AbortController();
    const running = run(sleeping, 60_000, abort.signal);
    abort.abort();
    await expect(running).rejects.toThrow('killed');
  });
});
