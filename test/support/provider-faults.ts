import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { WireAnswer } from './provider-answers.ts';

export const MEBIBYTE = 1024 * 1024;
const DRIP_MS = 50;

/** The fate of a connection on which a request has come. `refused` is for those that were open when the mode changed. */
export const CONNECTION_FAULTS = {
  refused: (socket) => socket.resetAndDestroy(),
  reset: (socket) => socket.resetAndDestroy(),
  hung: () => {},
  'not-http': (socket) => socket.end('SSH-2.0-SECRET-OF-THE-PROVIDER\r\n'),
  'cut-short': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"result":"succ'),
  // A byte now and then, for ever: no time between two bytes is long.
  dripping: (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{');
    const timer = setInterval(() => socket.write(' '), DRIP_MS);
    socket.on('close', () => clearInterval(timer));
  },
} satisfies Record<string, (socket: Socket) => unknown>;

const JSON_TYPE = { 'content-type': 'application/json' };
const ok = (body: WireAnswer['body'], headers: Record<string, string> = JSON_TYPE) => ({
  status: 200,
  headers,
  body,
});

/** Faults of the answer. `elsewhere` is where the redirect leads. */
export const ANSWER_FAULTS = {
  redirect: (elsewhere) => ({ status: 302, headers: { location: elsewhere }, body: '' }),
  oversized: () => ok(paddedJson(MEBIBYTE + 1)),
  'oversized-endless': () => ok(paddedJson(MEBIBYTE + 1), { ...JSON_TYPE, 'transfer-encoding': 'chunked' }),
  compressed: () => ok(gzipSync('{}'), { ...JSON_TYPE, 'content-encoding': 'gzip' }),
  html: () =>
    ok('<!doctype html><title>Down</title><p>SECRET-OF-THE-PROVIDER', { 'content-type': 'text/html' }),
  'bad-json': () => ok('{"result":"success","SECRET-OF-THE-PROVIDER'),
  'json-array': () => ok('[{"result":"success"}]'),
  'broken-utf8': () =>
    ok(Buffer.from('{"result":"error","message":"No records found","x":"\xe7"}', 'latin1')),
  empty: () => ok(''),
} satisfies Record<string, (elsewhere: string) => WireAnswer>;

export type ConnectionFault = keyof typeof CONNECTION_FAULTS;
export type AnswerFault = keyof typeof ANSWER_FAULTS;

/** A JSON object of exactly so many bytes. */
export function paddedJson(bytes: number, members = ''): string {
  const frame = `{${members}${members === '' ? '' : ','}"padding":""}`;
  return frame.replace('"padding":""', `"padding":"${'x'.repeat(bytes - Buffer.byteLength(frame))}"`);
}
