/** A dependency that readiness checks. */
export interface Probe {
  name: string;
  /** Readiness fails without a required dependency. Another one is only reported. */
  required: boolean;
  /** Resolves when it answers. A query is returned as it is, not awaited, so that `withTimeout` can take it back. */
  check(): PromiseLike<unknown>;
  /** The reason why the dependency is unusable despite its answer; `undefined` if it is usable. */
  complaint?(answer: unknown): string | undefined;
  /** A warning shown next to the status; `undefined` if there is none. */
  warning?(): string | undefined;
}
