import { readBody, type Unread } from '../../http/body.ts';
import { KIB, SECOND } from '../../platform/units.ts';

const MAX_FORM_BYTES = 32 * KIB;
/**
 * A member pastes a table of a thousand companies with whatever else is in its rows. The server itself refuses a body of over
 * 256 KiB, without a page.
 */
const MAX_LIST_BYTES = 192 * KIB;
/** The bound of reading a body. A form is a packet or two. */
const FORM_TIMEOUT_MS = 10 * SECOND;

/** The size of the largest form. @param hasList whether it is a member's form with a list */
export const maxFormBytes = (hasList: boolean): number => (hasList ? MAX_LIST_BYTES : MAX_FORM_BYTES);

/**
 * Reads the form of a request: at most `maxBytes`, within ten seconds, and until the service stops. No sender can make it throw.
 * A body of another type is an empty form, which no page takes: it has no token.
 *
 * @param stopping aborted when the service stops
 */
export async function readForm(
  request: Request,
  stopping: AbortSignal,
  maxBytes: number,
): Promise<URLSearchParams | Unread> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded')) return new URLSearchParams();
  const body = await readBody(request, { maxBytes, timeoutMs: FORM_TIMEOUT_MS, stopping });
  return typeof body === 'string' ? body : new URLSearchParams(body.toString('utf8'));
}

/** Whether a text has one `@`, a dot behind it, and nothing that could end a mail header. better-auth checks it again. */
export function isEmail(text: string): boolean {
  return (
    text.length <= 254 &&
    /^[^\s<>@,;:"'()[\]\\\p{Cc}]+@[^\s<>@,;:"'()[\]\\\p{Cc}]+\.[a-z0-9-]{2,}$/iu.test(text)
  );
}
