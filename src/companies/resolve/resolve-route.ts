import { Type } from '@sinclair/typebox';
import { problem, unavailable } from '../../http/answer.ts';
import type { ApiRoute } from '../../http/api-route.ts';
import { enumeration } from '../../http/enumeration.ts';
import { type ItemList, itemSchema, listRequestSchema } from '../../http/list-schema.ts';
import {
  createListHandler,
  type Item,
  type ItemAnswer,
  type ListInput,
  type ListService,
  type QuotedList,
} from '../../metering/admission/list-handler.ts';
import type { Handler } from '../../metering/admission/quote.ts';
import type { ReadLeft } from '../../metering/credits/left.ts';
import { createGate, type Gate, type GateLimits } from '../../platform/runtime/gate.ts';
import { SECOND } from '../../platform/units.ts';
import { searchProblem } from '../search/search-route.ts';
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

const CLEAR_ONLY = Type.Boolean({
  description:
    'Only clear names get their candidates and cost a credit, at least one a request; the others are `clear: false` without candidates, for nothing.',
  examples: [true],
});

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
    more: { clear_only: Type.Optional(CLEAR_ONLY) },
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
    description: `The companies that up to ${NAMES.max} names as people write them stand for, for one rate-limit token: at most ${MAX_CANDIDATES} candidates a name, each with its evidence word by word. \`clear\` is true if, of the companies compared, the first candidate alone has this name or, if none has it, every weighed word. A name without a candidate costs nothing, but a request costs at least one credit. With \`clear_only\` the same holds for every name that is not clear. If the credits suffice for some names only, the first ones with a candidate get them and the others are \`monthly-quota-exceeded\`. A body that is not valid is a \`validation\` that costs one credit.`,
  },
};

/**
 * One list of an account is answered at a time, and as many accounts have one as get a batch of names each (resolve-open.ts) within the
 * 3 s that a name may wait. So a list of one account delays those of other accounts by a batch at a time.
 */
const LISTS_IN_TURN: GateLimits = {
  places: 32,
  placesOfOne: 1,
  maxWaiting: 200,
  maxWaitMs: 3 * SECOND,
};
/** A name that has not begun by then is `service-unavailable`. A hundred of the worst names take three seconds of CPU, and as long in rests. */
const LIST_TIMEOUT_MS = 8 * SECOND;

const BLANK = 'The name holds only white space.';
const TOO_LATE = 'The names before this one took too long. It has cost nothing: ask for it again.';
const NOT_READ = 'There were no credits to read it for. It has cost nothing: ask for it again.';

export interface ResolutionParts extends ListService {
  resolve: Resolve;
  readLeft: ReadLeft;
  gate?: Gate;
}

/**
 * Resolves a list of names. First it looks for what an earlier sending was charged, or else what account and key have left. The reads end
 * once so many names have a candidate, and exactly what is answered is charged then. Equal names are read once.
 */
export function createResolutionsHandler({
  resolve,
  readLeft,
  gate = createGate(LISTS_IN_TURN),
  ...parts
}: ResolutionParts): Handler<ListInput> {
  return createListHandler({
    ...parts,
    ...NAMES,
    route: resolutionsRoute,
    gate,
    isDue: true,
    async quote(asked, { paidBefore, caller }, input) {
      const isClearOnly = (input as { clear_only?: boolean }).clear_only === true;
      const left = paidBefore ?? (await readLeft(caller));
      return readNames((name) => answerOf(resolve, name, isClearOnly), asked, left);
    },
  });
}

type ReadAnswer = { answer: ItemAnswer; isCharged: boolean };

/**
 * Reads names a few at a time, so that those of other requests come in between, until so many of them are to be charged.
 * @param left the credits that the request is expected to get
 */
async function readNames(
  answerOf: (name: string) => Promise<ReadAnswer>,
  asked: string[],
  left: number,
): Promise<QuotedList> {
  const known = new Map<string, ReadAnswer>();
  const untilMs = performance.now() + LIST_TIMEOUT_MS;
  const items: Item[] = [];
  let charged = 0;
  while (items.length < asked.length && charged < left) {
    const group = asked.slice(items.length, items.length + NAMES_AT_ONCE);
    const isLate = performance.now() > untilMs;
    const read = async (name: string): Promise<ReadAnswer> => {
      if (name.trim() === '')
        return { answer: problem('validation', BLANK, { reason: 'name' }), isCharged: true };
      return isLate
        ? { answer: unavailable(TOO_LATE, undefined, 'later'), isCharged: false }
        : answerOf(name);
    };
    const fresh = [...new Set(group)].filter((name) => !known.has(name));
    const answers = await Promise.all(fresh.map(read));
    for (const [index, name] of fresh.entries()) known.set(name, answers[index]!);
    for (const name of group) {
      const { answer, isCharged } = known.get(name)!;
      items.push({ isCharged, isFree: !isCharged, answer: () => answer });
      if (isCharged) charged += 1;
    }
  }
  const isUnavailable = items.every(({ answer }) => {
    const answered = answer() as ItemAnswer;
    return !answered.ok && answered.problem.kind === 'service-unavailable';
  });
  // One credit more than there seem to be: the charge says why the names that were not read get none.
  for (const index of asked.slice(items.length).keys())
    items.push({ isCharged: index === 0, answer: () => unavailable(NOT_READ) });
  return { items, least: isUnavailable ? 0 : 1 };
}

/** The answer to a name. It costs nothing without a candidate, and, if only clear ones are asked for, unless it is clear. */
async function answerOf(resolve: Resolve, name: string, isClearOnly: boolean): Promise<ReadAnswer> {
  let resolution: Resolution;
  try {
    resolution = await resolve(name);
  } catch (cause) {
    const answer = searchProblem(cause);
    return { answer, isCharged: answer.problem.kind !== 'service-unavailable' };
  }
  if (isClearOnly && !resolution.clear) resolution = { ...resolution, candidates: [] };
  return { answer: { ok: true, json: write(resolution) }, isCharged: resolution.candidates.length > 0 };
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
