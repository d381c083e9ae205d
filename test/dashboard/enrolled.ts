import { createHmac } from 'node:crypto';
import type { TestService } from '../support/service.ts';
import { createMember, type PageAnswer } from './visitor.ts';

const PAGE = '/dashboard/settings/second-factor';

/** The code that an app shows (RFC 6238), `steps` times 30 seconds from now. */
export function codeOf(secret: string, steps = 0): string {
  const bits = [...secret].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter));
  const binary = bits.map((value) => value.toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((binary.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const digest = createHmac('sha1', key).update(counter).digest();
  const number = digest.readUInt32BE(digest.at(-1)! & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

/** A member who has turned the second factor on; the code of `codeOf(secret)` is used. */
export async function enrolled(service: TestService) {
  const { visitor, ...person } = await createMember(service);
  const page = await visitor.submit(PAGE, { present: person.password });
  const secret = page.textOf('#secret')!;
  const codes = page.document.querySelector('#backup-codes')!.textContent!.split('\n');
  const answer = await visitor.post(`${PAGE}/confirm`, { ...fieldsOf(page), code: codeOf(secret) });
  if (answer.headers.get('location') !== `${PAGE}?done=on`)
    throw new Error(`not turned on: ${answer.status}`);
  return { visitor, person, page, secret, codes };
}

/** The hidden fields of a page's form. */
export const fieldsOf = ({ document }: PageAnswer) =>
  Object.fromEntries(
    [...document.querySelectorAll('main form input[type=hidden]')].map((input) => [
      input.getAttribute('name')!,
      input.getAttribute('value')!,
    ]),
  );
