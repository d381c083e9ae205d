import type { TSchema } from '@sinclair/typebox';
import type { CallKind } from '../credits/calls.ts';
import type { ProblemName } from './problems.ts';

/** What the reference says of an endpoint: beside its handler, with the schema that types the handler's answer. */
export interface Operation {
  /** Below `/api/v1`, with `{parameters}`: the route's template in logs and metrics too. */
  path: string;
  id: string;
  summary: string;
  description: string;
  /** What a call's credit is spent on; null: it costs none. */
  charge: CallKind | null;
  parameters: {
    name: string;
    in: 'query' | 'path';
    description: string;
    schema: Record<string, unknown>;
    example: string;
  }[];
  success: TSchema;
  /** Headers of the success beyond those that every answer has. */
  successHeaders?: Record<string, string>;
  /** Beyond those that the chain answers. */
  problems: ProblemName[];
}
