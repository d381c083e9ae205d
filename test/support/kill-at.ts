/**
 * Preloaded into a command: kills its process instead of the KILL_AT-th message to Postgres or Elasticsearch. Without KILL_AT
 * it says at the end how many messages there were, as the last line of stderr.
 */
import { writeSync } from 'node:fs';
import { Socket } from 'node:net';

const killAt = Number(process.env.KILL_AT ?? 0);
let messages = 0;
function beforeMessage(): void {
  messages += 1;
  if (messages === killAt) process.kill(process.pid, 'SIGKILL');
}

const { write } = Socket.prototype;
Socket.prototype.write = function (this: Socket, ...args: Parameters<typeof write>) {
  beforeMessage();
  return write.apply(this, args);
} as typeof write;

const ask = globalThis.fetch;
globalThis.fetch = Object.assign((...args: Parameters<typeof fetch>) => {
  beforeMessage();
  return ask(...args);
}, ask);

if (killAt === 0) process.on('exit', () => writeSync(2, `${messages}\n`));
