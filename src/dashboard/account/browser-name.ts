/** Browsers by their `User-Agent`. Edge also names Chrome and Safari, and Chrome also names Safari, so the order matters. */
const BROWSERS: [pattern: RegExp, name: string][] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
/** Systems. Android also names Linux, and an iPhone also names Mac OS X. */
const SYSTEMS: [pattern: RegExp, name: string][] = [
  [/\biP(?:hone|ad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];
const MAX_LENGTH = 40;

/** A short name of a `User-Agent`, such as `Firefox, Windows`; the beginning of an unknown one. */
export function browserName(userAgent: string): string {
  const find = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const names = [find(BROWSERS), find(SYSTEMS)].filter(Boolean);
  return names.length > 0 ? names.join(', ') : userAgent.slice(0, MAX_LENGTH);
}
