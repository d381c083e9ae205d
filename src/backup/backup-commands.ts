import type { Command } from 'commander';
import { RefusedError } from '../platform/errors.ts';
import { defineAnswer, defineCommand, withTools } from '../platform/terminal/command.ts';
import { count, duration, withProgress } from '../platform/terminal/progress.ts';
import { recordRun } from '../platform/terminal/runs.ts';
import { fields, printableJson } from '../platform/terminal/text.ts';
import { type BackupReport, backUp } from './backup.ts';
import { openBackup, restoreInto } from './restore.ts';

const WITHOUT_SECRETS =
  'AUTH_SECRET is not in the file: keep secrets/, the file of variables or DATA_DIR/auth-secret with it';

/** `backup` and `restore` (docs/commands.md). */
export function backupCommands(program: Command): void {
  const backup = program
    .command('backup')
    .description('copy all data into one file, while the service runs')
    .argument('<file>', 'the file, which only its owner can read; - for standard output')
    .addHelpText(
      'after',
      `
The file has every table as it is at one moment, with and without Elasticsearch. A backup that fails leaves the last one
as it is.

${WITHOUT_SECRETS}.
Without it everyone signs in to the dashboard again, and each second factor needs "account reset-second-factor".

Examples:
  bun directory backup directory.backup
  bun directory backup - | ssh backups@example.com 'cat > directory.backup'`,
    );
  defineCommand(
    backup,
    `{file, bytes, milliseconds}
With - it goes to standard error.`,
    (tools, file: string) =>
      withProgress(async (progress) => {
        if (file === '-' && process.stdout.isTTY)
          throw new RefusedError('a terminal can not take a backup: name a file, or pipe it on');
        const report = await recordRun(tools.sql, 'backup', () => backUp(tools, file, progress));
        progress.note(WITHOUT_SECRETS);
        if (file !== '-') return report;
        // Standard output has the backup.
        progress.note(
          backup.opts<{ json?: boolean }>().json ? printableJson(report) : describeBackup(report),
        );
        return undefined;
      }, tools.signal),
    (report) => (report === undefined ? '' : describeBackup(report)),
  );
  defineRestore(program);
}

const describeBackup = ({ file, bytes, milliseconds }: BackupReport) =>
  fields({ file, bytes: count(bytes), time: duration(milliseconds) });

const BRINGS_BACK =
  'what ended after the backup, such as revoked keys, works again: end it before the service starts (docs/operating.md)';

function defineRestore(program: Command): void {
  const command = program
    .command('restore')
    .description('put a backup into an empty database, or a new DATA_DIR')
    .argument('<file>', 'the file of a backup; - for standard input')
    .addHelpText(
      'after',
      `
The file is checked to its end before anything changes, and then everything in it is restored, or nothing. It must be of
this version. Restore only a file that you trust, because it can run any statement in the database.

A restore brings back all that ended after the backup, such as revoked keys. End it again before the service starts
(docs/operating.md). If the answer says so, run "index rebuild" afterwards.

Examples:
  DATA_DIR=restored bun directory restore directory.backup
  ssh backups@example.com 'cat directory.backup' | bun directory restore -`,
    );
  // The stores are opened behind the check, because a broken file must not even make a new installation.
  defineAnswer(
    command,
    `{restored, of, tables, rows, next, milliseconds}
of is the moment of the copy; next is the command that brings the search index, or null.`,
    async (signal, file: string) => {
      const startedMs = performance.now();
      const reader = await withProgress((progress) => openBackup(file, signal, progress), signal);
      return withTools((tools) =>
        withProgress(async (progress) => {
          const restored = await restoreInto(tools, reader, progress);
          progress.note(BRINGS_BACK);
          progress.phase('checking the directory');
          const { checkDirectory } = await import('../companies/directory/watch.ts');
          return {
            restored: file,
            of: reader.header.at,
            ...restored,
            next: (await checkDirectory(tools)).warning === null ? null : 'index rebuild',
            milliseconds: Math.round(performance.now() - startedMs),
          };
        }, signal),
      );
    },
    ({ tables, rows, next, milliseconds, ...report }) =>
      fields({
        ...report,
        tables: count(tables),
        rows: count(rows),
        time: duration(milliseconds),
        ...(next === null ? {} : { next: `bun directory ${next}` }),
      }),
  );
}
