import { problem } from '../../src/http/answer.ts';
import type { Trace } from '../../src/http/observe.ts';
import type { ProblemName } from '../../src/http/problems.ts';
import type { Owner } from '../../src/metering/credits/call.ts';
import type { Notes } from '../../src/metering/notes/notes.ts';

/** Notes the answer to a request: a problem that cost so many credits. Without a `callId` it is in no activity. */
export const noteProblem = (
  notes: Pick<Notes, 'answered'>,
  owner: Owner,
  kind: ProblemName,
  { spent = 0, trace = {} }: { spent?: number; trace?: Trace } = {},
) => notes.answered(owner, trace, problem(kind), { spent, isRepeated: false });
