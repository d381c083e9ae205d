const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/i;

/** Whether a host (`HOST`, or the `hostname` of a `URL`) is this machine, so that no traffic leaves it. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host);
}
