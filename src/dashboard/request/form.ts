import { readBody, type Unread as UnreadBody } from '../../http/body.ts';
import { KIB, SECOND } from '../../units.ts';

const MAX_FORM_BYTES = 16 * KIB;
/** For the whole body. A form is a packet or two; a slower sender only holds a connection. */
const FORM_TIMEOUT_MS = 10 * SECOND;

/** Why the form of a request was not read. */
export type Unread = 'not a form' | UnreadBody;

/**
 * Reads the form of a request: at most 16 KiB, within ten seconds, and not beyond a stop of the service. It never throws
 * because of what a sender does.
 *
 * @param stopping aborted when the service stops
 */
export async function readForm(request: Request, stopping: AbortSignal): Promise<URLSearchParams | Unread> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded')) return 'not a form';
  const body = await readBody(request, { maxBytes: MAX_FORM_BYTES, timeoutMs: FORM_TIMEOUT_MS, stopping });
  return typeof body === 'string' ? body : new URLSearchParams(body.toString('utf8'));
}

/** One `@`, a dot behind it, nothing that could end a mail header. better-auth checks it again. */
export function isEmail(text: string): boolean {
  return (
    text.length <= 254 &&
    /^[^\s<>@,;:"'()[\]\\\p{Cc}]+@[^\s<>@,;:"'()[\]\\\p{Cc}]+\.[a-z0-9-]{2,}$/iu.test(text)
  );
}
