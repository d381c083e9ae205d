import { readBody, type Unread } from '../../http/body.ts';
import { KIB, SECOND } from '../../platform/units.ts';

/** The largest form. */
export const MAX_FORM_BYTES = 32 * KIB;
/**
 * The largest form with a list, which only a live session may send: a member pastes a table of a thousand companies with whatever
 * else is in its rows. The server itself refuses a body of over 256 KiB, without a page.
 */
export const MAX_LIST_BYTES = 192 * KIB;
/** No form has half as many. */
const MAX_FIELDS = 64;
/** The bound of reading a body. A form is a packet or two. */
const FORM_TIMEOUT_MS = 10 * SECOND;

/** Why a form was not read. */
export type NoForm = Unread | 'too many fields';

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
): Promise<URLSearchParams | NoForm> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded')) return new URLSearchParams();
  const body = await readBody(request, stopping, { maxBytes, timeoutMs: FORM_TIMEOUT_MS });
  if (typeof body === 'string') return body;
  return hasTooManyFields(body, MAX_FIELDS) ? 'too many fields' : new URLSearchParams(body.toString('utf8'));
}

/** Counts before any field is made: 95,000 fields take 30 ms and 10 MB. */
function hasTooManyFields(body: Buffer, maxFields: number): boolean {
  let at = -1;
  for (let fields = 1; fields <= maxFields; fields += 1) {
    at = body.indexOf('&', at + 1);
    if (at === -1) return false;
  }
  return true;
}

/** Whether a text has one `@`, a dot behind it, and nothing that could end a mail header. better-auth checks it again. */
export function isEmail(text: string): boolean {
  return (
    text.length <= 254 &&
    /^[^\s<>@,;:"'()[\]\\\p{Cc}]+@[^\s<>@,;:"'()[\]\\\p{Cc}]+\.[a-z0-9-]{2,}$/iu.test(text)
  );
}
