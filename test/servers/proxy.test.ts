import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

/** A client that gathers what it is sent. */
function openClient(port: number) {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let closed = false;
  socket.on('data', (chunk) => {
    received += chunk.toString();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
  });
  return {
    socket,
    received: () => received,
    receives: (text: string) => until('the text', () => received === text),
    closes: () => until('the end', () => closed),
  };
}

describe('proxy', () => {
  let echo: Server;
  let proxy: TcpProxy;
  let heard = '';
  const sockets = new Set<Socket>();

  beforeAll(async () => {
    echo = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        heard += chunk.toString();
        socket.write(chunk);
      });
    });
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', () => resolve()));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    echo.close();
  });
  beforeEach(async () => {
    heard = '';
    proxy = await startProxy(`tcp://127.0.0.1:${(echo.address() as AddressInfo).port}`);
  });
  afterEach(() => proxy.close());

  test('replaces host and port of an address and nothing else', () => {
    expect(proxy.url('postgres://user:pass@db.example:5432/name?a=b')).toBe(
      `postgres://user:pass@127.0.0.1:${proxy.port}/name?a=b`,
    );
    expect(proxy.url('redis://10.0.0.1:6379/2')).toBe(`redis://127.0.0.1:${proxy.port}/2`);
  });

  test('forwards in both directions', async () => {
    const client = openClient(proxy.port);
    client.socket.write('hello');
    await client.receives('hello');
    client.socket.destroy();
  });

  test('forwards more than any buffer holds without losing a byte', async () => {
    const client = openClient(proxy.port);
    const text = Array.from({ length: 400_000 }, (_, index) => `${index} `).join('');
    client.socket.write(text);
    await client.receives(text);
    client.socket.destroy();
  });

  test('holds bytes back while hanging and forwards them, once and in order, when up again', async () => {
    const client = openClient(proxy.port);
    client.socket.write('1');
    await client.receives('1');
    proxy.hang();
    client.socket.write('2');
    const late = openClient(proxy.port);
    await new Promise((resolve) => late.socket.once('connect', resolve));
    late.socket.write('3');
    await Bun.sleep(100);
    expect(heard).toBe('1');
    expect([client.received(), late.received()]).toEqual(['1', '']);

    proxy.up();
    proxy.up();
    await Promise.all([client.receives('12'), late.receives('3')]);
    client.socket.write('4');
    await client.receives('124');
    client.socket.destroy();
    late.socket.destroy();
  });

  test('delays what comes back, in its order, and nothing else, until it is up again', async () => {
    const client = openClient(proxy.port);
    client.socket.write('a');
    await client.receives('a');
    proxy.delay(200);
    const startMs = performance.now();
    for (const text of ['b', 'c', 'd']) {
      client.socket.write(text);
      await until('the text', () => heard.endsWith(text));
    }
    await client.receives('abcd');
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(190);
    proxy.up();
    client.socket.write('e');
    await client.receives('abcde');
    client.socket.destroy();
  });

  test('resets open and new connections while down and serves new ones when up again', async () => {
    const open = openClient(proxy.port);
    open.socket.write('1');
    await open.receives('1');
    proxy.down();
    await open.closes();
    const refused = openClient(proxy.port);
    refused.socket.write('2');
    await refused.closes();
    expect(heard).toBe('1');

    proxy.up();
    const fresh = openClient(proxy.port);
    fresh.socket.write('3');
    await fresh.receives('3');
    fresh.socket.destroy();
  });

  test('passes nothing any more on connections that it has muted, and serves new ones', async () => {
    const muted = openClient(proxy.port);
    muted.socket.write('1');
    await muted.receives('1');
    proxy.mute();
    muted.socket.write('2');
    const fresh = openClient(proxy.port);
    fresh.socket.write('3');
    await fresh.receives('3');
    proxy.down();
    proxy.up();
    await Bun.sleep(100);
    expect([heard, muted.received(), muted.socket.readyState]).toEqual(['13', '1', 'open']);
    muted.socket.destroy();
  });

  test('ends hanging connections when it goes down', async () => {
    proxy.hang();
    const client = openClient(proxy.port);
    await new Promise((resolve) => client.socket.once('connect', resolve));
    client.socket.write('1');
    proxy.down();
    await client.closes();
    expect(heard).toBe('');
  });
});
