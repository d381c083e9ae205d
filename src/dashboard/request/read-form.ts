import { readBody, type Unread } from '../../http/body.ts';
import { KIB, SECOND } from '../../platform/units.ts';

/** A list of a thousand NIFs, typed with spaces, is half of it. */
const MAX_FORM_BYTES = 32 * KIB;
/** The bound of reading a body. A form is a packet or two. */
const FORM_TIMEOUT_MS = 10 * SECOND;

/** The reason why the form of a request was not read. */
export type UnreadForm = 'not a form' | Unread;

/**
 * Reads the form of a request: at most 32 KiB, within ten seconds, and until the service stops. No sender can make it throw.
 *
 * @param stopping aborted when the service stops
 */
export async function readForm(
  request: Request,
  stopping: AbortSignal,
): Promise<URLSearchParams | UnreadForm> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded')) return 'not a form';
  const body = await readBody(request, { maxBytes: MAX_FORM_BYTES, timeoutMs: FORM_TIMEOUT_MS, stopping });
  return typeof body === 'string' ? body : new URLSearchParams(body.toString('utf8'));
}

/** Whether a text has one `@`, a dot behind it, and nothing that could end a mail header. better-auth checks it again. */
export function isEmail(text: string): boolean {
  return (
    text.length <= 254 &&
    /^[^\s<>@,;:"'()[\]\\\p{Cc}]+@[^\s<>@,;:"'()[\]\\\p{Cc}]+\.[a-z0-9-]{2,}$/iu.test(text)
  );
}
