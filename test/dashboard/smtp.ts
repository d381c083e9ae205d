import { createServer, type Socket } from 'node:net';
import { until } from '../support/until.ts';

interface ReceivedMail {
  from: string;
  to: string[];
  /** Headers and body, decoded. */
  text: string;
}

export interface MailServer {
  url: string;
  /** The next mail to an address that has not been asked for yet. @throws when none comes */
  mailTo(address: string): Promise<ReceivedMail>;
  /** Mails to an address that came and have not been asked for. */
  received(address: string): number;
  /** The most connections that were open at once. */
  mostConnections(): number;
  stop(): Promise<void>;
}

/** A real SMTP server on a free port that keeps what it is given. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  let most = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on('close', () => sockets.delete(socket));
    converse(socket, (mail) => mails.push(mail));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `smtp://127.0.0.1:${port}`,
    async mailTo(address) {
      const find = () => mails.findIndex((mail) => mail.to.includes(address));
      await until(`a mail to ${address}`, () => find() !== -1);
      return mails.splice(find(), 1)[0]!;
    },
    received: (address) => mails.filter((mail) => mail.to.includes(address)).length,
    mostConnections: () => most,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function converse(socket: Socket, keep: (mail: ReceivedMail) => void): void {
  let mail: ReceivedMail = { from: '', to: [], text: '' };
  let inData = false;
  let rest = '';
  const say = (line: string) => socket.write(`${line}\r\n`);
  say('220 test');
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    rest += chunk.toString('utf8');
    for (let end = rest.indexOf('\r\n'); end !== -1; end = rest.indexOf('\r\n')) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 2);
      if (inData) {
        if (line === '.') {
          inData = false;
          keep({ ...mail, text: decodeQuotedPrintable(mail.text) });
          mail = { from: '', to: [], text: '' };
          say('250 kept');
        } else mail.text += `${line.replace(/^\.\./, '.')}\n`;
        continue;
      }
      const [, verb = '', address = ''] = /^(\w+)[^<]*(?:<([^>]*)>)?/.exec(line) ?? [];
      switch (verb.toUpperCase()) {
        case 'EHLO':
        case 'HELO':
          say('250 test');
          break;
        case 'MAIL':
          mail.from = address;
          say('250 ok');
          break;
        case 'RCPT':
          mail.to.push(address);
          say('250 ok');
          break;
        case 'DATA':
          inData = true;
          say('354 go on');
          break;
        case 'QUIT':
          say('221 bye');
          socket.end();
          break;
        case 'STARTTLS':
          say('502 not implemented');
          break;
        default:
          say('250 ok');
      }
    }
  });
}

function decodeQuotedPrintable(text: string): string {
  if (!/^content-transfer-encoding: quoted-printable/im.test(text)) return text;
  const bytes = text
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
