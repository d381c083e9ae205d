import { withTimeout } from '../../runtime/timeout.ts';
import { MINUTE, SECOND } from '../../units.ts';
import { admit, type Limit } from '../auth/limits.ts';
import type { MemberContext } from '../page-context.ts';
import type { PageResponse } from '../request/context.ts';
import { tooMany } from '../request/forms.ts';
import { messagePage } from '../request/layout.ts';

/** A download holds a connection to Postgres, so its reader may not take as long as it likes. */
const DOWNLOAD_TIMEOUT_MS = 1 * MINUTE;
/** A reader that takes no part for this long has stopped. */
const STALL_TIMEOUT_MS = 10 * SECOND;
/** After each part. Without it, two large downloads take most of the event loop, which the API shares. */
const PAUSE_MS = 4;

/** Sends a part of a file, and waits until its reader has taken it. */
export type WritePart = (part: string) => Promise<void>;

/**
 * A file that grows with its account. It is sent in parts as fast as its reader takes them, so it is never whole in memory. All
 * downloads share a few places, of which an account has one. A cut-off download has no end, which its reader notices.
 *
 * @param file.limit counts the downloads that got a place; absent: without a limit
 */
export async function download(
  context: MemberContext,
  { name, type, limit }: { name: string; type: string; limit?: Limit },
  send: (write: WritePart) => Promise<void>,
): Promise<PageResponse> {
  const { messages, tools, account } = context;
  // A download that waits keeps no place from pages.
  context.leave();
  const leave = await tools.downloads.enter(account.id);
  let sending = Promise.resolve();
  try {
    const early = limit === undefined ? null : tooMany(context, await admit(tools.sql, limit));
    if (early !== null)
      return messagePage(context, 429, messages.tooManyRequests, early.message!, early.headers);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    sending = sendParts(context, writable.getWriter(), send);
    return {
      file: readable,
      type,
      headers: { 'Content-Disposition': `attachment; filename="${name}"` },
    };
  } finally {
    void sending.finally(leave);
  }
}

/** It never fails. */
async function sendParts(
  { tools, trace }: MemberContext,
  body: WritableStreamDefaultWriter<Uint8Array>,
  send: (write: WritePart) => Promise<void>,
): Promise<void> {
  const cutOff = AbortSignal.any([tools.stopping, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)]);
  const abort = (reason: unknown) => void body.abort(reason).catch(() => {});
  cutOff.addEventListener('abort', () => abort(cutOff.reason), { once: true });
  const encoder = new TextEncoder();
  try {
    await send(async (part) => {
      await withTimeout(body.write(encoder.encode(part)), STALL_TIMEOUT_MS, 'the reader of a download');
      await Bun.sleep(PAUSE_MS);
    });
    await body.close();
  } catch (error) {
    abort(error);
    tools.log.warn({ err: error, requestId: trace.requestId }, 'a download was cut off');
  }
}
