import type { AdmissionContext, Handler, Payment } from '../admission/pipeline.ts';
import { isBug } from '../errors.ts';
import { type Answer, problem, unavailable } from '../http/answer.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { type ProblemName, problemBody } from '../http/problems.ts';
import { readNifs } from './batch-body.ts';
import { type ItemProblem, LookupsAnswerSchema, LookupsRequestSchema, MAX_NIFS } from './batch-schema.ts';
import { invalidNif, type Lookup, type LookupOutcome, validNif } from './lookup.ts';
import { writeCompany } from './present.ts';
import type { FindCompanies, StoredCompany } from './store.ts';

/** POST /lookups (contract, Beyond the specification) */
export const lookupsRoute: ApiRoute = {
  method: 'POST',
  path: '/lookups',
  body: LookupsRequestSchema,
  success: LookupsAnswerSchema,
  problems: ['validation'],
  charge: 'lookup',
  cost: 'one credit for each NIF that gets an answer',
  detail: {
    operationId: 'getCompanies',
    summary: 'Get several companies',
    description:
      'The details of up to 100 companies, for one rate-limit token. Each NIF gets in its place what a single lookup would answer. A NIF that stands there twice is answered and charged twice. If the credits suffice for some NIFs only, the first ones get them and the others are `monthly-quota-exceeded`. At most ten companies without a fresh record are refreshed; the others are `service-unavailable`, and cost nothing. A body that is not valid is a `validation` that costs one credit.',
  },
};

/**
 * Companies of one request that are refreshed at most. The providers are asked for all of them at once, so that the last one
 * has as much time as that of a single lookup.
 */
const MAX_REFRESHES = 10;

const INVALID_BODY = `The body is not {"nifs": ["…", …]} as application/json, with 1 to ${MAX_NIFS} NIFs.`;
const TOO_MANY_REFRESHES = `One request refreshes ${MAX_REFRESHES} companies, and this one would be another. It has cost nothing: ask for it again.`;

export interface BatchLookupParts {
  publicUrl: string;
  findCompanies: FindCompanies;
  lookUp: Lookup;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/** One NIF of a request, with what is stored of it. */
interface Item {
  /** As it was asked for. */
  asked: string;
  /** Nine digits; null when the NIF is not valid. */
  nif: string | null;
  record: StoredCompany | null;
  /** Whether the item gets an answer, and so costs a credit. */
  isAnswered: boolean;
}

/** The items of a request, whose body had arrived at `arrivedMs` (`performance.now()`). */
interface Plan {
  items: Item[];
  arrivedMs: number;
}

/**
 * Looks up several companies (contract: batch lookup).
 *
 * The body and all records are read before the credits are taken. Then it is known which items get an answer, and exactly
 * those are charged. Only a store that fails during a refresh makes a credit go back.
 */
export function createBatchLookupHandler({
  publicUrl,
  findCompanies,
  lookUp,
  stopping,
}: BatchLookupParts): Handler {
  return {
    charge: null,
    async handle({ request, caller, spend }) {
      const asked = await readNifs(request, stopping);
      if (asked === 'unread') return unavailable('The request was not read to its end.');
      if (asked === 'invalid') {
        // It costs what a single lookup's bad NIF costs.
        const { refusal } = await spend('lookup', 1);
        return refusal ?? problem('validation', INVALID_BODY);
      }
      let plan: Plan;
      try {
        plan = await planOf(asked);
      } catch (cause) {
        if (isBug(cause)) throw cause;
        return unavailable('The stored records could not be read.', cause);
      }
      const payment = await spend('lookup', plan.items.filter(({ isAnswered }) => isAnswered).length);
      return payment.spent === 0 && payment.refusal !== null
        ? payment.refusal
        : answer(plan, payment, caller);
    },
  };

  async function planOf(asked: string[]): Promise<Plan> {
    const arrivedMs = performance.now();
    const nifs = asked.map(validNif);
    const valid = nifs.filter((nif) => nif !== null);
    const records = valid.length === 0 ? null : await findCompanies(valid);
    const refreshed = new Set<string>();
    const items = asked.map((text, index): Item => {
      const nif = nifs[index]!;
      const record = nif === null ? null : (records?.get(nif) ?? null);
      const isStale = nif !== null && record?.fresh !== true;
      if (isStale && refreshed.size < MAX_REFRESHES) refreshed.add(nif);
      return { asked: text, nif, record, isAnswered: !isStale || refreshed.has(nif) };
    });
    return { items, arrivedMs };
  }

  async function answer(
    { items, arrivedMs }: Plan,
    { spent, refusal, giveBack }: Payment,
    caller: AdmissionContext['caller'],
  ): Promise<Answer> {
    const outcomes = new Map<string, Promise<LookupOutcome>>();
    /** A NIF that stands there twice is looked up once. */
    const outcomeOf = ({ nif, record }: Item): LookupOutcome | Promise<LookupOutcome> => {
      if (nif === null) return invalidNif();
      if (record?.fresh === true) return { ok: true, company: record };
      let outcome = outcomes.get(nif);
      if (outcome === undefined) {
        outcome = lookUp(nif, Promise.resolve(record), caller, arrivedMs);
        outcomes.set(nif, outcome);
      }
      return outcome;
    };
    const itemProblems: ProblemName[] = [];
    const written: string[] = [];
    let unpaid = 0;
    const write = (index: number, { asked, isAnswered }: Item, outcome: LookupOutcome): void => {
      if (!outcome.ok) itemProblems.push(outcome.problem.kind);
      // A store failed during its refresh, after it was charged.
      if (isAnswered && !outcome.ok && outcome.problem.kind === 'service-unavailable') unpaid += 1;
      written[index] = writeItem(publicUrl, asked, outcome);
    };
    let credits = spent;
    // Only a refresh takes a promise: nearly all records are fresh.
    const refreshes: Promise<void>[] = [];
    for (const [index, item] of items.entries()) {
      if (credits === 0 && refusal !== null) write(index, item, refusal);
      else if (!item.isAnswered) write(index, item, unavailable(TOO_MANY_REFRESHES));
      else {
        credits -= 1;
        const outcome = outcomeOf(item);
        if (outcome instanceof Promise) refreshes.push(outcome.then((ended) => write(index, item, ended)));
        else write(index, item, outcome);
      }
    }
    await Promise.all(refreshes);
    giveBack(unpaid);
    return { ok: true, json: `{"data":[${written.join(',')}]}`, itemProblems };
  }
}

function writeItem(publicUrl: string, asked: string, outcome: LookupOutcome): string {
  const nif = JSON.stringify(asked);
  if (outcome.ok) return `{"nif":${nif},"status":200,"company":${writeCompany(outcome.company)}}`;
  const body: ItemProblem = problemBody(publicUrl, outcome.problem);
  return `{"nif":${nif},"status":${body.status},"problem":${JSON.stringify(body)}}`;
}
