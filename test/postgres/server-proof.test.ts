import { afterEach, describe, expect, test } from 'bun:test';
import { createHmac, pbkdf2Sync } from 'node:crypto';
import type { Socket } from 'bun';
import postgres from 'postgres';
import { testServers } from '../support/database.ts';

/**
 * The client and a server that does not know the password: a program that took the port of a Postgres that has ended,
 * or that listens in between (patches/README.md). The fake server sends the bytes that each test gives it.
 */
const PASSWORD = 'a-password-of-the-tests';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const message = (type: string, body: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
};
const authentication = (code: number, rest: Buffer | string = '') => {
  const body = Buffer.alloc(4);
  body.writeUInt32BE(code);
  return message('R', Buffer.concat([body, Buffer.from(rest)]));
};
const OK = authentication(0);
const CLEARTEXT = authentication(3);
const MD5 = authentication(5, 'salt');
const SASL = authentication(10, 'SCRAM-SHA-256\0\0');
const READY = message('Z', Buffer.from('I'));
/** One row with the text `1`, for a query of the simple protocol. */
const ROW = Buffer.concat([
  message('T', Buffer.from('\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0', 'latin1')),
  message('D', Buffer.from('\0\x01\0\0\0\x011', 'latin1')),
  message('C', Buffer.from('SELECT 1\0')),
  READY,
]);

type Answer = Buffer | ((received: string) => Buffer);
interface FakeServer {
  url: string;
  /** Everything that the client has sent. */
  received(): string;
  /** Ends the present connections. New ones get this answer, then rows. */
  become(answer: Buffer): void;
}

/** Gives the n-th answer to the n-th message of a connection, and rows to each after the last. */
function startFakeServer(...answers: Answer[]): FakeServer {
  const received: string[] = [];
  const turns = new Map<Socket, number>();
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        const text = bytes.toString('latin1');
        received.push(text);
        const turn = turns.get(socket) ?? 0;
        turns.set(socket, turn + 1);
        const answer = turn < answers.length ? answers[turn]! : ROW;
        socket.write(typeof answer === 'function' ? answer(text) : answer);
      },
    },
  });
  closing.push(() => server.stop(true));
  return {
    url: `postgres://somebody:${PASSWORD}@127.0.0.1:${server.port}/database`,
    received: () => received.join(''),
    become(answer) {
      answers = [answer];
      for (const socket of turns.keys()) socket.end();
    },
  };
}

const SALT = Buffer.from('0123456789abcdef');
const nonceIn = (text: string) => /r=([^,\0]+)/.exec(text)![1]!;
const challenge = (nonce: string, salt = SALT.toString('base64'), iterations = '4096') =>
  authentication(11, `r=${nonce},s=${salt},i=${iterations}`);

/** The proof of a server that knows `password`. */
function signature(password: string, clientNonce: string, serverNonce: string): Buffer {
  const hmac = (key: Buffer, text: Buffer | string) => createHmac('sha256', key).update(text).digest();
  const exchange =
    `n=*,r=${clientNonce},r=${serverNonce},s=${SALT.toString('base64')},i=4096,` + `c=biws,r=${serverNonce}`;
  const key = hmac(pbkdf2Sync(password, SALT, 4096, 32, 'sha256'), 'Server Key');
  return authentication(12, `v=${hmac(key, exchange).toString('base64')}`);
}

/** A server that goes through the whole exchange. */
function startScramServer(password: string): FakeServer {
  let clientNonce = '';
  return startFakeServer(
    SASL,
    (text) => {
      clientNonce = nonceIn(text);
      return challenge(`${clientNonce}server`);
    },
    () => Buffer.concat([signature(password, clientNonce, `${clientNonce}server`), OK, READY]),
  );
}

/** The error of a query, or its rows. */
async function ask(url: string): Promise<unknown> {
  const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 5, backoff: () => 0.01 });
  closing.unshift(() => sql.end({ timeout: 0 }));
  return await sql`SELECT 1 AS n`.simple().then(
    (rows) => [...rows],
    (error) => error,
  );
}

const SCRAM_ONLY = '?require_auth=scram-sha-256';
const UNPROVEN = { code: 'SERVER_NOT_AUTHENTICATED' };
const WRONG_PROOF = { code: 'SASL_SIGNATURE_MISMATCH' };

describe('with require_auth=scram-sha-256', () => {
  const impostors: [string, Answer[]][] = [
    ['asks for the password in clear', [CLEARTEXT]],
    ['asks for an MD5 of the password', [MD5]],
    ['asks for another way to authenticate', [authentication(7)]],
    ['lets the client in without asking', [Buffer.concat([OK, READY])]],
    ['answers queries without a word about authentication', [READY]],
    ['lets the client in after the offer of SCRAM', [SASL, Buffer.concat([OK, READY])]],
    [
      'lets the client in without a proof',
      [SASL, (text) => challenge(`${nonceIn(text)}x`), Buffer.concat([OK, READY])],
    ],
    [
      'is ready without a proof',
      [SASL, (text) => challenge(`${nonceIn(text)}x`), Buffer.concat([READY, ROW])],
    ],
    ['asks for the password in clear after the offer of SCRAM', [SASL, CLEARTEXT]],
  ];
  test.each(impostors)('a server that %s gets nothing and is not believed', async (_, answers) => {
    const server = startFakeServer(...answers);
    expect(await ask(server.url + SCRAM_ONLY)).toMatchObject(UNPROVEN);
    expect(server.received()).not.toContain(PASSWORD);
    expect(server.received()).not.toContain('md5');
    expect(server.received()).not.toContain('SELECT');
  });

  test('a server that knows the password is asked', async () => {
    const server = startScramServer(PASSWORD);
    expect(await ask(server.url + SCRAM_ONLY)).toEqual([{ n: 1 }]);
    expect(server.received()).not.toContain(PASSWORD);
  });

  test('a real Postgres is asked, and with another password it refuses', async () => {
    const url = new URL(testServers().postgresUrl + SCRAM_ONLY);
    expect(await ask(url.href)).toEqual([{ n: 1 }]);
    url.password = 'another';
    expect(await ask(url.href)).toMatchObject({ code: '28P01' });
  });

  test('another value is refused before anything is connected', () => {
    expect(() => postgres('postgres://127.0.0.1:1/x?require_auth=md5')).toThrow(
      'require_auth md5 is not supported',
    );
  });

  test('every new connection has to be proven, also after one that was', async () => {
    const server = startScramServer(PASSWORD);
    const closed = Promise.withResolvers<void>();
    const onclose = () => closed.resolve();
    const sql = postgres(server.url + SCRAM_ONLY, { max: 1, fetch_types: false, backoff: () => 0, onclose });
    closing.unshift(() => sql.end({ timeout: 0 }));
    expect([...(await sql`SELECT 1 AS n`.simple())]).toEqual([{ n: 1 }]);
    server.become(Buffer.concat([OK, READY]));
    await closed.promise;
    expect(await sql`SELECT 1 AS n`.simple().catch((error) => error)).toMatchObject(UNPROVEN);
  });
});

describe.each(['', SCRAM_ONLY])('a server that offers SCRAM (%p)', (options) => {
  test('with a nonce that does not begin with ours gets no proof', async () => {
    const server = startFakeServer(SASL, challenge('another-exchange'), Buffer.concat([OK, READY]));
    expect(await ask(server.url + options)).toMatchObject(UNPROVEN);
    expect(server.received()).not.toContain('p=');
  });

  test('with our nonce and nothing of its own gets no proof', async () => {
    const server = startFakeServer(SASL, (text) => challenge(nonceIn(text)));
    expect(await ask(server.url + options)).toMatchObject(UNPROVEN);
    expect(server.received()).not.toContain('p=');
  });

  test('with the proof of another password is not believed', async () => {
    const server = startScramServer('another');
    expect(await ask(server.url + options)).toMatchObject(WRONG_PROOF);
    expect(server.received()).not.toContain('SELECT');
  });

  test('with a proof before the exchange is not believed', async () => {
    const server = startFakeServer(SASL, Buffer.concat([authentication(12, 'v=null'), OK, READY]));
    expect(await ask(server.url + options)).toMatchObject(WRONG_PROOF);
  });

  test('and then lets the client in without a proof is not believed', async () => {
    const server = startFakeServer(
      SASL,
      (text) => challenge(`${nonceIn(text)}x`),
      Buffer.concat([OK, READY]),
    );
    expect(await ask(server.url + options)).toMatchObject(UNPROVEN);
    expect(server.received()).not.toContain('SELECT');
  });

  test.each([
    ['no salt', '', '4096'],
    ['no iterations', 'c2FsdA==', 'x'],
    ['iterations that take minutes', 'c2FsdA==', '2147483647'],
  ])('and sends %s fails the query, and nothing else', async (_, salt, iterations) => {
    const server = startFakeServer(SASL, (text) => challenge(`${nonceIn(text)}x`, salt, iterations));
    expect(await ask(server.url + options)).toMatchObject(UNPROVEN);
  });
});
