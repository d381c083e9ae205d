import { SECOND } from '../units.ts';

/** A step of long work, as it is planned. */
export interface Step {
  /** What the names of its phases begin with. */
  name: string;
  /** How long it takes against the other steps, in any unit. */
  weight: number;
}

/** How far work of several steps is. */
export interface Estimate {
  /** Says the steps of the whole work. They may change when more is known. */
  plan(steps: readonly Step[]): void;
  /** A phase begins. One that is not planned counts as part of the step before. */
  begin(name: string): void;
  /** `phase 2 of 6: `; empty without a plan. */
  position(): string;
  /**
   * How long all of the work still takes, in milliseconds; `null` means that it is not known yet, or under a second.
   * @param fraction how much of the phase is done, 0 to 1; `null`: not known
   */
  leftMs(fraction: number | null): number | null;
}

/** Nothing is said about the time left before a phase has shown its pace. */
const ESTIMATE_AFTER_MS = 2 * SECOND;

/**
 * Estimates by what was measured so far: steps that are over say how long a unit of weight takes on this machine. A phase that
 * reports its progress says so itself.
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

/** An estimate that has run out says nothing, so that the time that has passed is shown instead. */
function worthSaying(leftMs: number): number | null {
  return leftMs < SECOND ? null : leftMs;
}
