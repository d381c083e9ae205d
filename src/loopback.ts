const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/i;

/** Whether a host, as `HOST` or the `hostname` of a `URL` has it, is this machine itself: nothing goes over a network. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host);
}
