import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { WireAnswer } from './provider-answers.ts';

/** Faults of the connection, and faults of the answer. */
export type ConnectionFault = 'refused' | 'reset' | 'hung' | 'dripping' | 'cut-short' | 'not-http';
export type AnswerFault =
  | 'redirect'
  | 'oversized'
  | 'oversized-endless'
  | 'compressed'
  | 'html'
  | 'bad-json'
  | 'json-array'
  | 'broken-utf8'
  | 'empty';

export const MEBIBYTE = 1024 * 1024;
const DRIP_MS = 50;

/** The fate of a connection on which a request has come. `refused` is for those that were open when the mode changed. */
export const CONNECTION_FAULTS: Record<ConnectionFault, (socket: Socket) => void> = {
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
};

/** `elsewhere` is where the redirect leads. */
export function faultyAnswer(fault: AnswerFault, elsewhere: string): WireAnswer {
  const json = { 'content-type': 'application/json' };
  switch (fault) {
    case 'redirect':
      return { status: 302, headers: { location: elsewhere }, body: '' };
    case 'oversized':
      return { status: 200, headers: json, body: paddedJson(MEBIBYTE + 1) };
    case 'oversized-endless':
      return {
        status: 200,
        headers: { ...json, 'transfer-encoding': 'chunked' },
        body: paddedJson(MEBIBYTE + 1),
      };
    case 'compressed':
      return { status: 200, headers: { ...json, 'content-encoding': 'gzip' }, body: gzipSync('{}') };
    case 'html':
      return {
        status: 200,
        headers: { 'content-type': 'text/html' },
        body: '<!doctype html><title>Down</title><p>SECRET-OF-THE-PROVIDER',
      };
    case 'bad-json':
      return { status: 200, headers: json, body: '{"result":"success","SECRET-OF-THE-PROVIDER' };
    case 'json-array':
      return { status: 200, headers: json, body: '[{"result":"success"}]' };
    case 'broken-utf8':
      return {
        status: 200,
        headers: json,
        body: Buffer.from('{"result":"error","message":"No records found","x":"\xe7"}', 'latin1'),
      };
    case 'empty':
      return { status: 200, headers: json, body: '' };
  }
}

/** A JSON object of exactly so many bytes. */
export function paddedJson(bytes: number, members = ''): string {
  const frame = `{${members}${members === '' ? '' : ','}"padding":""}`;
  return frame.replace('"padding":""', `"padding":"${'x'.repeat(bytes - Buffer.byteLength(frame))}"`);
}
