/** Unix time in milliseconds that doesn't follow steps of the system's clock while the process runs. */
export function monotonicUnixMs(): number {
  return performance.timeOrigin + performance.now();
}
