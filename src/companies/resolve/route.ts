import { Type } from '@sinclair/typebox';
import { type ProblemAnswer, problem, unavailable } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { enumeration } from '../../http/enumeration.ts';
import { type ItemList, itemSchema, listRequestSchema } from '../../http/list-schema.ts';
import { inTurn } from '../../metering/admission/in-turn.ts';
import {
  createListHandler,
  type ItemAnswer,
  type ListInput,
  type ListService,
} from '../../metering/admission/list.ts';
import type { Handler } from '../../metering/admission/quote.ts';
import { createGate, type GateLimits } from '../../platform/runtime/gate.ts';
import { SECOND } from '../../platform/units.ts';
import { searchProblem } from '../search/route.ts';
import { KINDS, type Kind } from './evidence.ts';
import { MAX_CANDIDATES } from './order.ts';
import { heavyWords, NAMES_AT_ONCE, type Resolution, type Resolve } from './resolve.ts';
import { MAX_HEAVY_WORDS, MAX_WORDS } from './words.ts';

const NAMES: ItemList = { list: 'names', item: 'name', max: 100 };

const isPlain = (kind: Kind) => kind === 'same' || kind === 'missing';

const EvidenceSchema = Type.Union(
  [
    enumeration(KINDS.filter(isPlain), ''),
    ...KINDS.filter((kind) => !isPlain(kind)).map((kind) =>
      Type.Object({ [kind]: Type.String() }, { $id: `Evidence${kind[0]!.toUpperCase()}${kind.slice(1)}` }),
    ),
  ],
  {
    $id: 'Evidence',
    description: "How the candidate has the word, with the candidate's own words if they differ.",
  },
);

const CandidateSchema = Type.Object(
  {
    nif: Type.String({ pattern: '^[0-9]{9}$', description: 'Nine-digit NIF.' }),
    legal_name: Type.String({ description: 'Legal name.' }),
    missing: Type.Integer({ minimum: 0, description: 'Weight of the words that the candidate lacks.' }),
    changed: Type.Integer({
      minimum: 0,
      description: 'Weight of the words that the candidate has in another form than `same` or `joined`.',
    }),
    extra: Type.Integer({
      minimum: 0,
      description: "The candidate's words that are no evidence for any word.",
    }),
    evidence: Type.Array(EvidenceSchema, { description: 'One for each of `words`, in their order.' }),
  },
  { $id: 'Candidate' },
);

const ResolvedNameSchema = itemSchema(
  NAMES,
  {
    clear: Type.Boolean({
      description:
        'Of the companies of this directory that were compared, the first candidate alone has this name or, if none has it, every weighed word, as the evidence says. Compare the names if its `extra` is not 0.',
    }),
    words: Type.Array(
      Type.Object(
        {
          word: Type.String(),
          weight: Type.Unsafe<number>({ type: 'integer', enum: [1, 2, 4, 8] }),
        },
        { $id: 'NameWord' },
      ),
      {
        maxItems: MAX_HEAVY_WORDS,
        description: 'The words of the name that are weighed. A word is heavier if fewer entries have it.',
      },
    ),
    candidates: Type.Array(CandidateSchema, { maxItems: MAX_CANDIDATES, description: 'The best first.' }),
  },
  {
    $id: 'ResolvedName',
    problems: ['search-failed'],
    cost: 'Costs one credit, and none without a candidate.',
    free: ['`service-unavailable` (ask again)'],
  },
);

/** POST /resolutions (docs/api.md: names as people write them) */
export const resolutionsRoute: ApiRoute = {
  right: 'resolve',
  method: 'POST',
  path: '/resolutions',
  body: listRequestSchema(NAMES, {
    $id: 'ResolutionsRequest',
    element: Type.String(),
    form: `a company's name as somebody wrote it, or a text with a NIF. Its first ${MAX_WORDS} words are read, up to the ${MAX_HEAVY_WORDS}th that is weighed`,
    example: ['Padaria Abacco & Filhos', 'Livraria Cedilha', 'Talho Sem Nome'],
  }),
  success: Type.Object(
    { data: Type.Array(ResolvedNameSchema, { description: 'One element a name, in the order asked.' }) },
    { $id: 'ResolutionsAnswer' },
  ),
  problems: ['validation'],
  charge: 'resolve',
  cost: 'one credit for each name that gets a candidate, at least one a request',
  detail: {
    operationId: 'resolveNames',
    summary: 'Find the companies of a list of names',
    pt: {
      summary: 'Encontrar as empresas de uma lista de nomes',
      cost: 'um crédito por cada nome com candidatas, e pelo menos um por pedido',
    },
    description: `The companies that up to ${NAMES.max} names as people write them stand for, for one rate-limit token: at most ${MAX_CANDIDATES} candidates a name, each with its evidence word by word. \`clear\` is true only if the first candidate is the company without doubt. A name without a candidate costs nothing, but a request costs at least one credit. If the credits suffice for some names only, the first ones get them and the others are \`monthly-quota-exceeded\`, also if credits of other names come back. A body that is not valid is a \`validation\` that costs one credit.`,
  },
};

/**
 * Two lists are answered at once, one of an account, because each takes much of a core. So a list of one account delays those of
 * other accounts little, and single calls never.
 */
const LISTS_IN_TURN: GateLimits = {
  places: 2,
  placesOfOne: 1,
  maxWaiting: 200,
  maxWaitMs: 3 * SECOND,
};
/** A name that has not begun by then is `service-unavailable`. A hundred of the worst names take two seconds. */
const LIST_TIMEOUT_MS = 8 * SECOND;

const BLANK = 'The name holds only white space.';
const TOO_LATE = 'The names before this one took too long. It has cost nothing: ask for it again.';

/** Resolves a list of names. They are read once their credits are charged, and equal ones once. */
export function createResolutionsHandler(
  resolve: Resolve,
  parts: ListService,
  gate = createGate(LISTS_IN_TURN),
): Handler<ListInput> {
  const handler = createListHandler({
    ...parts,
    ...NAMES,
    route: resolutionsRoute,
    emptyIsFree: true,
    async quote(asked) {
      const answerOnce = inGroups((name) => answerOf(resolve, name));
      const answerName = (name: string) =>
        name.trim() === '' ? problem('validation', BLANK) : answerOnce(name);
      return {
        items: asked.map((name) => ({ asked: name, isCharged: true, answer: () => answerName(name) })),
      };
    },
  });
  return inTurn(gate, handler);
}

/** Answers the names of one request a few at a time, so that the names of another request come in between. */
function inGroups(answer: (name: string) => Promise<ItemAnswer>): (name: string) => Promise<ItemAnswer> {
  const answers = new Map<string, PromiseWithResolvers<ItemAnswer>>();

  async function answerAll(): Promise<void> {
    const untilMs = performance.now() + LIST_TIMEOUT_MS;
    const waiting = [...answers];
    while (waiting.length > 0) {
      const isLate = performance.now() > untilMs;
      const group = waiting.splice(0, NAMES_AT_ONCE);
      const ends = group.map(([name, { resolve, reject }]) =>
        isLate ? resolve(unavailable(TOO_LATE)) : answer(name).then(resolve, reject),
      );
      await Promise.all(ends);
    }
  }

  return (name) => {
    // The first name starts all of them, once each has been asked for.
    if (answers.size === 0) queueMicrotask(answerAll);
    return answers.getOrInsertComputed(name, () => Promise.withResolvers()).promise;
  };
}

async function answerOf(resolve: Resolve, name: string): Promise<ItemAnswer> {
  let resolution: Resolution;
  try {
    resolution = await resolve(name);
  } catch (cause) {
    return searchProblem(cause) satisfies ProblemAnswer;
  }
  return { ok: true, json: write(resolution), isEmpty: resolution.candidates.length === 0 };
}

/** The members of an item, as JSON. */
function write({ name, clear, candidates }: Resolution): string {
  const members = {
    clear,
    words: heavyWords(name),
    candidates: candidates.map(({ nif, legalName, missing, changed, extra, evidence }) => ({
      nif,
      legal_name: legalName,
      missing,
      changed,
      extra,
      evidence: evidence.map(({ kind, text }) => (isPlain(kind) ? kind : { [kind]: text })),
    })),
  };
  return JSON.stringify(members).slice(1, -1);
}
