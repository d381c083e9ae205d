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

export interface Provider {
  /** `http://127.0.0.1:PORT`, for NIF_PT_URL, VIES_URL and EINFORMA_URL alike: the path tells which is meant. */
  url: string;
  /** Every request that arrived whole, in order; also those that a fault mode spoils afterwards. */
  requests: ProviderRequest[];
  /** Requests about companies (without those for tokens). */
  lookups(): ProviderRequest[];
  /** The answer about a NIF: an object is sent as JSON with 200. Unknown NIFs get the format's own "not found". */
  answer(nif: string, body: Json | WireAnswer): void;
  /** The answer about every NIF that was given none. */
  answerAll(make: (nif: string, request: ProviderRequest) => Json | WireAnswer | undefined): void;
  /** The answer to a request for a token; the default gives 'token-1', 'token-2', … for an hour each. */
  answerToken(make: (nth: number) => Json | WireAnswer): void;
  /** How everything is answered from now on; resolves when it is in force. */
  mode(mode: ProviderMode): Promise<void>;
  /** Requests arrive and are recorded, but none is answered until `release`. */
  hold(): void;
  release(): void;
  /** Resolves when so many requests have arrived. */
  arrived(count: number): Promise<void>;
  /** Connections that are open now. */
  connections(): number;
  /** Those of them with a request that has no whole answer: what a caller's time-out has to close. */
  unanswered(): number;
  close(): Promise<void>;
}

const OTHER_NIF = '500000000';

/** Starts a provider on a free port of this machine, speaking nif.pt's, VIES's and eInforma's formats, with their faults on demand. */
export async function startProvider(): Promise<Provider> {
  const sockets = new Set<Socket>();
  const waiting = new Set<Socket>();
  const requests: ProviderRequest[] = [];
  const answers = new Map<string, Json | WireAnswer>();
  const arrivals: { count: number; resolve: () => void }[] = [];
  let fallback: Parameters<Provider['answerAll']>[0] | undefined;
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
    url,
    requests,
    lookups: () => requests.filter((request) => request.kind !== 'einforma-token'),
    answer: (nif, body) => void answers.set(nif, body),
    answerAll: (make) => {
      fallback = make;
    },
    answerToken: (make) => {
      tokenAnswer = make;
    },
    async mode(next) {
      if (next === 'refused' && mode !== 'refused') await unlisten(server, sockets);
      if (next !== 'refused' && mode === 'refused') await listen(server, port);
      mode = next;
    },
    hold: () => {
      held ??= [];
    },
    release: () => {
      const serves = held ?? [];
      held = undefined;
      for (const serve of serves) serve();
    },
    arrived: (count) =>
      requests.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => arrivals.push({ count, resolve })),
    connections: () => sockets.size,
    unanswered: () => waiting.size,
    close: async () => {
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
