/** Version, trace, span, flags (W3C Trace Context, traceparent). A later version may have more members. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/** Longer than any that says more than ours reads. */
const LONGEST = 256;

/**
 * The caller's trace, so that the request's log line can be found by it. Sources of company details get none: it would tell them which
 * requests belong together.
 *
 * @returns `undefined` for no header, or one that is not as the standard says
 */
export function traceIdOf(headers: Headers): string | undefined {
  const given = headers.get('traceparent');
  if (given === null || given.length > LONGEST) return undefined;
  const [, version, traceId, more] = TRACEPARENT.exec(given) ?? [];
  return version === '00' && more !== undefined ? undefined : traceId;
}
