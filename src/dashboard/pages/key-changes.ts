import { RefusedError } from '../../errors.ts';
import { OVERLAP_S, rotateKey } from '../../keys/rotate.ts';
import { generateSecret, RANDOM_BYTES } from '../../keys/secret.ts';
import { type ApiKey, findKey, renameKey, revokeKey } from '../../keys/store.ts';
import { isName } from '../../names.ts';
import { DAY, SECOND } from '../../units.ts';
import { actorOf } from '../auth/members.ts';
import { bytesOfForm, TOKEN_FIELD } from '../request/csrf.ts';
import { type MemberContext, type PageResponse, redirectTo } from '../request/page-context.ts';
import { type Refusal, refusalOf } from '../ui/forms.ts';
import { html } from '../ui/html.ts';
import { formPage, notFoundPage } from '../ui/layout.ts';
import { nameOf, showKeys } from './keys.ts';

/** The choices of the form, in seconds. */
const OVERLAPS_S = [OVERLAP_S.default, (7 * DAY) / SECOND, OVERLAP_S.max, 0];

/** GET /dashboard/keys/:id/rotate: asks how long the previous secret is to work. */
export async function askRotate(context: MemberContext): Promise<PageResponse> {
  const { messages, formats } = context;
  const key = await activeKey(context);
  if (key === null) return notFoundPage(context);
  const label = (seconds: number) =>
    seconds === 0 ? messages.overlapNone : formats.duration(seconds * SECOND);
  return formPage(context, {
    title: messages.rotate,
    heading: messages.rotateTitle(nameOf(key, context)),
    lead: html`<p>${messages.rotateLead}</p>`,
    path: `/keys/${key.id}/rotate`,
    fields: [
      {
        name: 'overlap',
        label: messages.overlap,
        options: OVERLAPS_S.map((seconds) => [String(seconds), label(seconds)]),
      },
    ],
    focus: false,
    button: messages.rotateButton,
    cancel: '/keys',
  });
}

/** POST /dashboard/keys/:id/rotate. A form that is sent twice rotates once, and both answers show the new secret. */
export async function rotate(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, fields, user } = context;
  const key = await activeKey(context);
  const overlapS = Number(fields('overlap'));
  if (key === null || !OVERLAPS_S.includes(overlapS)) return notFoundPage(context);
  const random = bytesOfForm(tools.secret, fields(TOKEN_FIELD), `rotate ${key.id}`, RANDOM_BYTES);
  try {
    const rotated = await rotateKey(tools.sql, key.id, overlapS, actorOf(user), generateSecret(random));
    return showKeys(context, { secret: rotated });
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return showKeys(context, { refusal: { message: messages.notRotated, status: 409 } });
  }
}

/** GET /dashboard/keys/:id/rename */
export async function askName(context: MemberContext, refusal: Refusal | null = null): Promise<PageResponse> {
  const { messages, fields } = context;
  const key = await activeKey(context);
  if (key === null) return notFoundPage(context);
  const value = refusal ? fields('name') : key.name;
  return formPage(context, {
    title: messages.rename,
    heading: messages.renameTitle(nameOf(key, context)),
    path: `/keys/${key.id}/rename`,
    fields: [{ name: 'name', label: messages.keyName, hint: messages.keyNameHint, value }],
    button: messages.rename,
    cancel: '/keys',
    refusal,
  });
}

/** POST /dashboard/keys/:id/rename */
export async function rename(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, fields, user } = context;
  const name = fields('name').trim();
  if (!isName(name)) return askName(context, refusalOf({ name: messages.keyNameInvalid }));
  const key = await activeKey(context);
  if (key === null) return notFoundPage(context);
  await renameKey(tools.sql, key.id, name, actorOf(user));
  return redirectTo(context, '/keys?done=renamed');
}

/** GET /dashboard/keys/:id/revoke: asks once more. */
export async function askRevoke(context: MemberContext): Promise<PageResponse> {
  const { messages } = context;
  const key = await activeKey(context);
  if (key === null) return notFoundPage(context);
  return formPage(context, {
    title: messages.revoke,
    heading: messages.revokeTitle(nameOf(key, context)),
    lead: html`<p>${messages.revokeLead(key.start)}</p>`,
    path: `/keys/${key.id}/revoke`,
    button: messages.revokeButton,
    look: 'bad',
    cancel: '/keys',
  });
}

/** POST /dashboard/keys/:id/revoke: a key that is revoked already stays so. */
export async function revoke(context: MemberContext): Promise<PageResponse> {
  const { tools, user } = context;
  const key = await ownKey(context);
  if (key === null) return notFoundPage(context);
  await revokeKey(tools.sql, key.id, actorOf(user));
  return redirectTo(context, '/keys?done=revoked');
}

/** The key of the path, if it is the member's own. Another account's key is as unknown as one that doesn't exist. */
function ownKey({ tools, account, id }: MemberContext): Promise<ApiKey | null> {
  return findKey(tools.sql, account.id, id);
}

async function activeKey(context: MemberContext): Promise<ApiKey | null> {
  const key = await ownKey(context);
  return key?.revoked === null ? key : null;
}
