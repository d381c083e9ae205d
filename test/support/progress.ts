import type { Progress } from '../../src/platform/terminal/progress.ts';

/** Progress that nobody sees. */
export const NO_PROGRESS: Progress = {
  phase() {},
  update() {},
  note() {},
  end() {},
};
