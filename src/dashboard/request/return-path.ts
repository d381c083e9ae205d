/** Where a sign-in leads: the page that was asked for without a session. */

const OWN_PATH = /^(\/[\w-]+)*(\?([\w=&.+*-]|%[\dA-F]{2})*)?$/;
const MAX_LENGTH = 1000;

/** The typed field of a form that survives the end of a session: the one that its page takes from the address. */
const KEPT_FIELDS: Record<string, string> = { '/keys': 'name', '/try': 'q' };

/** The path below the dashboard that was asked for: '' for the overview. A proxy has taken the public address's own path away. */
export function pathBelow(url: URL): string {
  return url.pathname.replace(/^\/dashboard/, '').replace(/\/$/, '');
}

/** @param path below the dashboard; @returns the sign-in that leads to it afterwards */
export function signInAddress(base: string, path: string): string {
  const to = returnPath(path);
  return `${base}/sign-in${to === '' ? '' : `?to=${encodeURIComponent(to)}`}`;
}

/**
 * The path below the dashboard that a sign-in was asked to lead to; '' for the overview, and for anything that is no plain path.
 * It is put behind the dashboard's own address, so that it can't lead to another site.
 */
export function returnPath(to: string | null): string {
  return to !== null && to.length <= MAX_LENGTH && OWN_PATH.test(to) ? to : '';
}

/** The page that a form is on, with what was typed. */
export function pageWithText(path: string, form: URLSearchParams | null): string {
  const field = KEPT_FIELDS[path];
  const text = field === undefined ? null : form?.get(field);
  return field === undefined || !text ? path : `${path}?${new URLSearchParams({ [field]: text })}`;
}
