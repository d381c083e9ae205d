import { SECOND } from '../units.ts';

export interface Step {
  /** The beginning of its phases' names. */
  name: string;
  /** Its duration relative to the other steps, in any unit. */
  weight: number;
}

export interface Estimate {
  /** Sets the steps of the whole work. They may change when more is known. */
  plan(steps: readonly Step[]): void;
  /** Begins a phase. A phase that was not planned counts as part of the step before. */
  begin(name: string): void;
  /** `phase 2 of 6: `; empty without a plan. */
  position(): string;
  /**
   * The time left for all of the work, in milliseconds; `null` means that it is not known yet, or under a second.
   * @param fraction the part of the phase that is done, 0 to 1; `null` means that it is not known
   */
  leftMs(fraction: number | null): number | null;
}

/** A phase must have run for this long before its pace says how long it takes. */
const ESTIMATE_AFTER_MS = 2 * SECOND;

/**
 * Estimates by measurement: completed steps show how long a unit of weight takes on this machine. A phase that reports its
 * progress shows its own pace.
 */
export function createEstimate(now: () => number): Estimate {
  let steps: readonly Step[] = [];
  let at = -1;
  let startedAt: number | null = null;
  let phase = { name: '', startedAt: 0 };

  const locate = () => {
    const found = steps.findIndex(({ name }, step) => step >= at && phase.name.startsWith(name));
    if (found !== -1) at = found;
  };
  const weightOf = (part: readonly Step[]) => part.reduce((sum, { weight }) => sum + weight, 0);

  return {
    plan(planned) {
      steps = planned;
      at = -1;
      locate();
    },
    begin(name) {
      startedAt ??= now();
      phase = { name, startedAt: now() };
      locate();
    },
    position: () => (at === -1 ? '' : `phase ${at + 1} of ${steps.length}: `),
    leftMs(fraction) {
      const elapsedMs = now() - phase.startedAt;
      const known = fraction !== null && fraction > 0 && elapsedMs >= ESTIMATE_AFTER_MS ? fraction : null;
      if (at === -1) return known === null ? null : worthSaying((elapsedMs / known) * (1 - known));
      const { weight } = steps[at]!;
      const [before, after] = [weightOf(steps.slice(0, at)), weightOf(steps.slice(at + 1))];
      const beforeMs = phase.startedAt - startedAt!;
      if (known !== null) {
        const msPerWeight = (beforeMs + elapsedMs) / (before + weight * known);
        return worthSaying((elapsedMs / known) * (1 - known) + msPerWeight * after);
      }
      if (before === 0 || beforeMs + elapsedMs < ESTIMATE_AFTER_MS) return null;
      const msPerWeight = beforeMs / before;
      return worthSaying(Math.max(msPerWeight * weight - elapsedMs, 0) + msPerWeight * after);
    },
  };
}

/** `null` for an estimate that has run out, so that the elapsed time is shown instead. */
function worthSaying(leftMs: number): number | null {
  return leftMs < SECOND ? null : leftMs;
}
