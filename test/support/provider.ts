import { createServer, type Socket } from 'node:net';
import {
  einformaNotFound,
  einformaReport,
  jsonAnswer,
  nifPtFound,
  nifPtNotFound,
  viesFound,
  viesInvalid,
  type WireAnswer,
} from './provider-answers.ts';
import {
  ANSWER_FAULTS,
  type AnswerFault,
  CONNECTION_FAULTS,
  type ConnectionFault,
} from './provider-faults.ts';
import { listen, type ProviderRequest, readRequests, unlisten, writeAnswer } from './provider-wire.ts';

export * from './provider-answers.ts';

type Json = Record<string, unknown>;

/** `{ status }` answers everything with that status and a JSON body. */
export type ProviderMode = 'normal' | 'wrong-company' | ConnectionFault | AnswerFault | { status: number };

export type Provider = Awaited<ReturnType<typeof startProvider>>;

const OTHER_NIF = '500000000';

/** Starts a provider on a free port of this machine, speaking nif.pt's, VIES's and eInforma's formats, with their faults on demand. */
export async function startProvider() {
  const sockets = new Set<Socket>();
  const waiting = new Set<Socket>();
  const requests: ProviderRequest[] = [];
  const answers = new Map<string, Json | WireAnswer>();
  const arrivals: { count: number; resolve: () => void }[] = [];
  let fallback: ((nif: string, request: ProviderRequest) => Json | WireAnswer | undefined) | undefined;
  let tokenAnswer: (nth: number) => Json | WireAnswer = (nth) => ({
    access_token: `token-${nth}`,
    token_type: 'bearer',
    expires_in: 3600,
  });
  let mode: ProviderMode = 'normal';
  let held: (() => void)[] | undefined;
  let url = '';
  let tokensGiven = 0;

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      waiting.delete(socket);
    });
    socket.on('error', () => {});
    readRequests(socket, (request) => {
      requests.push(request);
      waiting.add(socket);
      for (const arrival of arrivals) if (requests.length >= arrival.count) arrival.resolve();
      const serve = () => respond(socket, request);
      if (held) held.push(serve);
      else serve();
    });
  });

  function respond(socket: Socket, request: ProviderRequest): void {
    if (typeof mode === 'string' && mode in CONNECTION_FAULTS)
      CONNECTION_FAULTS[mode as ConnectionFault](socket);
    else if (writeAnswer(socket, answerInMode(request))) waiting.delete(socket);
  }

  function answerInMode(request: ProviderRequest): WireAnswer {
    if (typeof mode === 'object') return jsonAnswer({ secret: 'SECRET-OF-THE-PROVIDER' }, mode.status);
    if (mode === 'normal') return asAnswer(answerFor(request));
    if (mode === 'wrong-company') {
      return asAnswer(request.kind === 'einforma-token' ? answerFor(request) : foreign(request));
    }
    return ANSWER_FAULTS[mode as AnswerFault](`${url}/elsewhere`);
  }

  function answerFor(request: ProviderRequest): Json | WireAnswer {
    if (request.kind === 'einforma-token') {
      tokensGiven++;
      return tokenAnswer(tokensGiven);
    }
    return answers.get(request.nif) ?? fallback?.(request.nif, request) ?? unknownTo(request);
  }

  await listen(server, 0);
  const port = (server.address() as { port: number }).port;
  url = `http://127.0.0.1:${port}`;

  return {
    /** `http://127.0.0.1:PORT`, for NIF_PT_URL, VIES_URL and EINFORMA_URL alike: the path tells which is meant. */
    url,
    /** Every request that arrived whole, in order; also those that a fault mode spoils afterwards. */
    requests,
    /** Requests about companies (without those for tokens). */
    lookups: () => requests.filter((request) => request.kind !== 'einforma-token'),
    /** The answer about a NIF: an object is sent as JSON with 200. Unknown NIFs get the format's own "not found". */
    answer: (nif: string, body: Json | WireAnswer) => void answers.set(nif, body),
    /** The answer about every NIF that was given none. */
    answerAll: (make: NonNullable<typeof fallback>) => {
      fallback = make;
    },
    /** The answer to a request for a token; the default gives 'token-1', 'token-2', … for an hour each. */
    answerToken: (make: typeof tokenAnswer) => {
      tokenAnswer = make;
    },
    /** How everything is answered from now on; resolves when it is in force. */
    async mode(next: ProviderMode): Promise<void> {
      if (next === 'refused' && mode !== 'refused') await unlisten(server, sockets);
      if (next !== 'refused' && mode === 'refused') await listen(server, port);
      mode = next;
    },
    /** Requests arrive and are recorded, but none is answered until `release`. */
    hold: () => {
      held ??= [];
    },
    release: () => {
      const serves = held ?? [];
      held = undefined;
      for (const serve of serves) serve();
    },
    /** Resolves when so many requests have arrived. */
    arrived: (count: number): Promise<void> =>
      requests.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => arrivals.push({ count, resolve })),
    /** Connections that are open now. */
    connections: () => sockets.size,
    /** Those of them with a request that has no whole answer: what a caller's time-out has to close. */
    unanswered: () => waiting.size,
    async close(): Promise<void> {
      if (mode !== 'refused') await unlisten(server, sockets);
    },
  };
}

function unknownTo(request: ProviderRequest): Json | WireAnswer {
  if (request.kind === 'vies') return viesInvalid(request.nif);
  if (request.kind === 'nif.pt') return nifPtNotFound();
  return einformaNotFound();
}

function foreign(request: ProviderRequest): Json {
  if (request.kind === 'vies') return viesFound(OTHER_NIF);
  return request.kind === 'nif.pt' ? nifPtFound(OTHER_NIF) : einformaReport(OTHER_NIF);
}

function asAnswer(answer: Json | WireAnswer): WireAnswer {
  return typeof answer.status === 'number' && 'body' in answer ? (answer as WireAnswer) : jsonAnswer(answer);
}
