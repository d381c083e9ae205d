/**
 * Fails in two cases:
 * - Prose of the project uses a phrase that is not Plain English, also if the phrase is wrapped over two lines.
 * - It reads the caller's key from another variable than `API_KEY`.
 */
import { Glob } from 'bun';

const PHRASES =
  'anew|all the same|but for|hold up|hears of|comes to|goes by|is there again|so long|of its own|beside the road';
/** Between two words: white space, and the marks of a comment or a quotation that begin the next line. */
const GAP = String.raw`(?:[ \t]+|[ \t]*\n[ \t]*(?://|\*|#|>|--)?[ \t]*)`;
const BANNED = new RegExp(String.raw`\b(?:${PHRASES.replaceAll(' ', GAP)})\b`, 'gi');
/** Reads or sets a variable that ends in `KEY`, in shell, TypeScript, Python, PHP or an option of a command. */
const KEY_VARIABLE =
  /(?:\$\{?|\benv\.|environ\[["']|getenv\(["']|env-var |(?=\w+=["'$]*svc_))((?:[A-Z]+_)*KEY)\b/g;
/** The caller's key, and settings of the service. */
const KEYS = ['API_KEY', 'NIF_PT_KEY'];
const FILES = [
  '{src,docs,examples,test,bench}/**/*.{ts,js,md,sql,css,lua,py,sh,yml}',
  '*.{md,yml}',
  'Dockerfile',
  '.ci/{run,compose}',
  'deploy/*',
];
/** The specification is quoted, a released migration never changes, and packages are not ours. */
const NOT_OURS = /^docs\/specification\.md$|^src\/platform\/postgres\/migrations\/|\bnode_modules\//;

/** No customer reads these, and their constants have such names. */
const FOR_US = /^(?:test|bench)\//;

const complaints: string[] = [];
const complain = (path: string, text: string, index: number, what: string) =>
  complaints.push(`${path}:${text.slice(0, index).split('\n').length}: ${what}`);
for (const path of FILES.flatMap((pattern) => [...new Glob(pattern).scanSync({ dot: true })])) {
  if (NOT_OURS.test(path)) continue;
  const text = await Bun.file(path).text();
  for (const { 0: phrase, index } of text.matchAll(BANNED)) {
    complain(
      path,
      text,
      index,
      `"${phrase.replace(/\s+/g, ' ')}" is not Plain English (CONTRIBUTING, Style)`,
    );
  }
  if (FOR_US.test(path)) continue;
  for (const { 1: name, index } of text.matchAll(KEY_VARIABLE)) {
    if (!KEYS.includes(name!)) complain(path, text, index, `the caller's key is in API_KEY, not in ${name}`);
  }
}

if (complaints.length > 0) {
  console.error(complaints.join('\n'));
  process.exit(1);
}
