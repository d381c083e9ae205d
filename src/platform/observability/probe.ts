import type { Bound } from '../runtime/timeout.ts';

/** A dependency that readiness checks. */
export interface Probe {
  name: string;
  /** Readiness fails without a required dependency. Another one is only reported. */
  required: boolean;
  /** Fails if the dependency is unusable. @param bound bounds the wait for a query, and takes it back */
  check(bound: Bound): Promise<unknown>;
  /** A warning shown next to the status; `undefined` if there is none. */
  warning?(): string | undefined;
}
