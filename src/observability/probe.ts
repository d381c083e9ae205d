/** A dependency that readiness asks. */
export interface Probe {
  name: string;
  /** Without it the service can't do its work; one that isn't required is reported only. */
  required: boolean;
  /** Resolves when it answers. A query is returned as it is, not awaited, so that `withTimeout` can take it back. */
  check(): PromiseLike<unknown>;
  /** Why its answer means that the dependency is of no use; undefined: it is. */
  complaint?(answer: unknown): string | undefined;
  /** What is shown of it beside that it answers; undefined: nothing. */
  warning?(): string | undefined;
}
