import { withTimeout } from '../../platform/runtime/timeout.ts';
import { countAttempt, type Limit } from '../auth/limits.ts';
import type { MemberContext } from '../page-context.ts';
import type { PageResponse } from '../request/context.ts';
import { tooMany } from '../request/forms.ts';
import { messagePage } from '../request/layout.ts';
import { createPace, type Pace } from './pace.ts';

/** After each part. Without it, two large downloads take most of the event loop, which the API shares. */
const PAUSE_MS = 4;

/** Sends a part of a file, and waits until its reader has taken it. */
export type WritePart = (part: string) => Promise<void>;

/**
 * A file that grows with its account. It is sent in parts as fast as its reader takes them ({@link createPace}), so it is never whole
 * in memory. All downloads share a few places, of which an account has one. A cut-off download has no end, which its reader
 * notices.
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
    const early = limit === undefined ? null : tooMany(context, await countAttempt(tools.sql, limit));
    if (early !== null)
      return messagePage(context, 429, messages.tooManyRequests, early.message!, early.headers);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const isWanted = () => tools.downloads.isWantedBeside(account.id);
    sending = sendParts(context, writable.getWriter(), createPace(isWanted), send);
    const headers = { 'Content-Disposition': `attachment; filename="${name}"` };
    return { file: readable, type, headers };
  } finally {
    void sending.finally(leave);
  }
}

/** It never fails. */
async function sendParts(
  { tools, trace }: MemberContext,
  body: WritableStreamDefaultWriter<Uint8Array>,
  pace: Pace,
  send: (write: WritePart) => Promise<void>,
): Promise<void> {
  const abort = (reason: unknown) => void body.abort(reason).catch(() => {});
  const stop = () => abort(tools.stopping.reason);
  tools.stopping.addEventListener('abort', stop, { once: true });
  const encoder = new TextEncoder();
  try {
    await send(async (part) => {
      const bytes = encoder.encode(part);
      const beganAtMs = performance.now();
      await withTimeout(body.write(bytes), pace.leftMs(), 'the reader of a download');
      pace.took(bytes.length, performance.now() - beganAtMs);
      await Bun.sleep(PAUSE_MS);
    });
    await body.close();
  } catch (error) {
    abort(error);
    tools.log.warn({ err: error, requestId: trace.requestId }, 'a download was cut off');
  } finally {
    tools.stopping.removeEventListener('abort', stop);
  }
}
