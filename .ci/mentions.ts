/**
 * Fails when a document or a comment names a file that does not exist, or a document links to one or to a missing heading. It also fails
 * when a comment cites a rule by a heading that its page doesn't have, and when a document names a symbol that no file of code has: a
 * function, type, constant, variable, column or metric between backticks.
 */
import { basename, dirname, join } from 'node:path';
import { Glob } from 'bun';

const MARKDOWN = /\.md$/;
const CODE = /\.(ts|js|py|sh|sql|lua|css|json|yml|toml|cfg|service|patch)$|^\.ci\/|^deploy\/|^Dockerfile$/;
/** These may name symbols of libraries, and some that are gone. */
const SYMBOLS_OF_OTHERS = /^docs\/(field-notes|specification)\.md$/;
/** The changelog and released migrations name what is gone, and the notes on patches name files of packages. */
const NOT_READ = /^((CHANGELOG|patches\/README)\.md|src\/\w+\/migrations\/000[1-7]_\w+\.sql)$/;
/** Names of Postgres and Prometheus that documents use. */
const NAMES_OF_OTHERS = [
  'pg_auto_failover',
  'pg_rewind',
  'hot_standby_feedback',
  'backend_xmin',
  'dns_sd_configs',
];
const TOP =
  'src|test|bench|docs|tools(?!/(?:list|call))|examples|deploy|patches|search-mappings|\\.ci|\\.github';
/** A path from the top of the repository. */
const PATH = new RegExp(String.raw`(?<![\w./@-])(?:${TOP})/[\w./*{},@-]*[\w*}/]`, 'g');
/** A file named without its folder, such as `claim.ts`. */
const NAME = /(?<![\w./*@{}-])[a-z][\w-]*(?:\.test)?\.(?:ts|lua|md)(?![\w/-])/g;
/** A link to a file of the repository and to an anchor there, or to one on the same page. */
const LINK = /\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]+))?[^)]*\)/g;
/** A rule cited by page and headings, in parentheses: `docs/api.md: normalized name, order of results`. */
const RULES = /\((?:specification[^();]*; )?(docs\/[\w-]+\.md): ([^();]+)\)/g;
/** The forms that only names of code have: camelCase, PascalCase, UPPER_CASE, snake_case. */
const SYMBOL =
  /^(?:[a-z]+\d*(?:[A-Z][a-z0-9]*)+|(?:[A-Z][a-z0-9]+){2,}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z]+\d*(?:_[a-z0-9]+)+)(?:\(\))?$/;

const tracked = Bun.spawnSync(['git', 'ls-files', '--cached', '--others', '--exclude-standard'])
  .stdout.toString()
  .trim()
  .split('\n');
const folders = new Set(tracked.flatMap(foldersOf));
const names = new Set(tracked.map((path) => basename(path)));
const texts = new Map<string, string>();
for (const path of tracked) {
  const isText = MARKDOWN.test(path) || CODE.test(path);
  if (isText && (await Bun.file(path).exists())) texts.set(path, await Bun.file(path).text());
}
const words = new Set(
  [...texts].filter(([path]) => !MARKDOWN.test(path)).flatMap(([, text]) => text.match(/\w+/g) ?? []),
).union(new Set(NAMES_OF_OTHERS));

const complaints: string[] = [];
for (const [path, text] of texts) {
  if (MARKDOWN.test(path)) {
    for (const [link, target, anchor] of text.matchAll(LINK))
      if (!leads(path, target!, anchor)) complain(path, text, link);
  }
  if (NOT_READ.test(path)) continue;
  const prose = MARKDOWN.test(path) ? text : commentsOf(text);
  for (const [mention] of prose.matchAll(PATH)) if (!exists(mention)) complain(path, text, mention);
  for (const [mention] of prose.matchAll(NAME)) if (!names.has(mention)) complain(path, text, mention);
  if (!MARKDOWN.test(path)) {
    for (const [, page, rules] of flat(prose).matchAll(RULES)) {
      for (const rule of rules!.split(', '))
        if (!hasRule(page!, rule)) complain(path, text, `${page}: ${rule}`);
    }
  }
  if (!MARKDOWN.test(path) || SYMBOLS_OF_OTHERS.test(path)) continue;
  for (const [, span] of text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)) {
    if (SYMBOL.test(span!) && !words.has(span!.replace('()', ''))) complain(path, text, span!);
  }
}
if (complaints.length > 0) {
  console.error(complaints.join('\n'));
  process.exit(1);
}

function complain(path: string, text: string, mention: string): void {
  const line = text.slice(0, text.indexOf(mention)).split('\n').length;
  complaints.push(`${path}:${line}: there is no ${mention}`);
}

/** @param target a file, seen from the one at `path`; empty means the same page */
function leads(path: string, target: string, anchor: string | undefined): boolean {
  const file = target === '' ? path : join(dirname(path), target);
  if (target !== '' && !exists(file)) return false;
  const page = texts.get(file);
  if (anchor === undefined || page === undefined || !MARKDOWN.test(file)) return true;
  return page.includes(`id="${anchor}"`) || headingsOf(page).some((heading) => anchorOf(heading) === anchor);
}

/** The headings outside of code, without backticks. */
function headingsOf(page: string): string[] {
  const prose = page.replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!.replaceAll('`', ''));
}

/** The anchor that GitHub gives to a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Whether a heading of the page begins with the rule's name. */
function hasRule(page: string, rule: string): boolean {
  return headingsOf(texts.get(page) ?? '').some((heading) =>
    heading.toLowerCase().startsWith(rule.toLowerCase()),
  );
}

/** Comments as one text, so that a citation may go over the end of a line. */
function flat(comments: string): string {
  return comments.replace(/\s*\n\s*(?:\*|\/\/|#|--)\s+/g, ' ');
}

function foldersOf(path: string): string[] {
  const folder = dirname(path);
  return folder === '.' ? [] : [folder, ...foldersOf(folder)];
}

/** @param path may be a folder, or a pattern with braces and stars */
function exists(path: string): boolean {
  const plain = path.replace(/\/$/, '');
  if (folders.has(plain) || tracked.includes(plain)) return true;
  const pattern = new Glob(plain);
  return /[*{]/.test(plain) && tracked.some((one) => pattern.match(one));
}

/** The lines of a file of code that hold a comment. */
function commentsOf(text: string): string {
  return text
    .split('\n')
    .filter((line) => /^\s*(\/\*\*|\*|\/\/|#|--)|\s\/\/ /.test(line))
    .join('\n');
}
