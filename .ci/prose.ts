/**
 * Fails when prose of the project uses a phrase that CONTRIBUTING rules out, also when the phrase is wrapped over two lines,
 * or when the subject of a recent commit is longer than 72 characters.
 */
import { Glob } from 'bun';

const PHRASES =
  'anew|all the same|but for|hold up|hears of|comes to|goes by|is there again|so long|of its own|beside the road';
/** Between two words: white space, and the marks of a comment or a quotation that begin the next line. */
const GAP = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?://|\*|#|>|--)?[ \t]*)`;
const BANNED = new RegExp(String.raw`\b(?:${PHRASES.replaceAll(' ', GAP)})\b`, 'gi');
const FILES = [
  '{src,docs,examples,test,bench}/**/*.{ts,js,md,sql,css,lua,py,sh,yml}',
  '*.{md,yml}',
  'Dockerfile',
  '.ci/{run,compose}',
  'deploy/*',
];
/** The specification is quoted, a released migration never changes, and packages are not ours. */
const NOT_OURS = /^docs\/specification\.md$|^src\/platform\/postgres\/migrations\/|\bnode_modules\//;
const MAX_SUBJECT = 72;
/** Commits before this day had no bound. */
const SUBJECTS_SINCE = '2026-11-22T14:30:00Z';

const complaints: string[] = [];
for (const path of FILES.flatMap((pattern) => [...new Glob(pattern).scanSync({ dot: true })])) {
  if (NOT_OURS.test(path)) continue;
  const text = await Bun.file(path).text();
  for (const { 0: phrase, index } of text.matchAll(BANNED)) {
    const line = text.slice(0, index).split('\n').length;
    complaints.push(
      `${path}:${line}: "${phrase.replace(/\s+/g, ' ')}" is not Plain English (CONTRIBUTING, Style)`,
    );
  }
}

const log = Bun.spawnSync(['git', 'log', `--since=${SUBJECTS_SINCE}`, '--format=%h %s']);
for (const line of log.success ? log.stdout.toString().trim().split('\n') : []) {
  const [commit, subject] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
  if (subject.length > MAX_SUBJECT)
    complaints.push(`${commit}: the subject is longer than ${MAX_SUBJECT} characters`);
}
if (complaints.length > 0) {
  console.error(complaints.join('\n'));
  process.exit(1);
}
