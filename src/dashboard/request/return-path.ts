/** The way back after a sign-in, to the page that was requested without a session. */
import type { Traits } from '../context.ts';

const OWN_PATH = /^(\/[\w-]+)*(\?([\w=&.+*-]|%[\dA-F]{2})*)?$/;
const MAX_LENGTH = 1000;

/** The path below the dashboard; '' for the overview. A proxy has removed the path of the public address. */
export function pathBelow(url: URL): string {
  return url.pathname.replace(/^\/dashboard/, '').replace(/\/$/, '');
}

/** The query of a page, for a refused form and the link to the other language, without what is said once; '' if it has no other. */
export function keptQuery(url: URL): string {
  const kept = new URLSearchParams(url.search);
  for (const name of ['done', 'lang']) kept.delete(name);
  return kept.size === 0 ? '' : `?${kept}`;
}

/** @param path below the dashboard; @returns the sign-in that leads to it afterwards */
export const signInAddress = (base: string, path: string): string =>
  base + pathTo('/sign-in', returnPath(path));

/** @param page of the way in; @param to a {@link returnPath}; @returns the page that leads to it afterwards */
export const pathTo = (page: '/sign-in' | '/sign-up', to: string): string =>
  to === '' ? page : `${page}?to=${encodeURIComponent(to)}`;

/**
 * The path below the dashboard that a sign-in leads to; '' for the overview, and for any text that is no plain path. It is
 * appended to the dashboard's address, so that it can't lead to another site.
 */
export function returnPath(to: string | null): string {
  return to !== null && to.length <= MAX_LENGTH && OWN_PATH.test(to) ? to : '';
}

/** The fields of a form that have a text. */
export const filledIn = (form: URLSearchParams | null, names: readonly string[] = []) =>
  names.map((name): [string, string] => [name, form?.get(name) ?? '']).filter(([, text]) => text !== '');

/** The path of a form's page, with the typed text. */
export function pageWithText(path: string, form: URLSearchParams | null, { keeps }: Traits): string {
  const kept = new URLSearchParams(filledIn(form, keeps));
  return kept.size > 0 ? `${path}?${kept}` : path;
}
