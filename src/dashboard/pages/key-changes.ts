import { RefusedError } from '../../errors.ts';
import { OVERLAP_S, rotateKey } from '../../keys/rotate.ts';
import { generateSecret, RANDOM_BYTES } from '../../keys/secret.ts';
import { renameKey } from '../../keys/store.ts';
import { isName } from '../../names.ts';
import { DAY, SECOND } from '../../units.ts';
import { actorOf } from '../auth/members.ts';
import { bytesOfForm, TOKEN_FIELD } from '../request/csrf.ts';
import { type MemberContext, type PageResponse, redirectTo } from '../request/page-context.ts';
import { html } from '../ui/html.ts';
import { field, memberPage, messagePage, token } from '../ui/layout.ts';
import { type Refusal, refusalAlert, refusedFields, stateOf } from './entry.ts';
import { keysPage, nameOf, ownKey } from './keys.ts';

/** The choices of the form, in seconds. */
const OVERLAPS_S = [OVERLAP_S.default, (7 * DAY) / SECOND, OVERLAP_S.max, 0];

/** GET /dashboard/keys/:id/rotate: asks how long the previous secret is to work. */
export async function askRotate(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, formats } = context;
  const key = await activeKey(context);
  if (key === null) return notFound(context);
  const label = (seconds: number) =>
    seconds === 0 ? messages.overlapNone : formats.duration(seconds * SECOND);
  const body = html`
<section class="card sheet confirm">
  <h1>${messages.rotateTitle(nameOf(key, context))}</h1>
  <p>${messages.rotateLead}</p>
  <form method="post" action="${tools.base}/keys/${key.id}/rotate">
    ${token(context)}
    <div class="field">
      <label for="overlap">${messages.overlap}</label>
      <select id="overlap" name="overlap">${OVERLAPS_S.map(
        (seconds) => html`<option value="${seconds}">${label(seconds)}</option>`,
      )}</select>
    </div>
    <div class="actions">
      <button type="submit">${messages.rotateButton}</button>
      <a class="button quiet" href="${tools.base}/keys">${messages.cancel}</a>
    </div>
  </form>
</section>`;
  return memberPage(context, { section: '/keys', title: messages.rotate, body });
}

/** POST /dashboard/keys/:id/rotate. A form that is sent twice rotates once, and both answers show the new secret. */
export async function rotate(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, fields, user } = context;
  const key = await activeKey(context);
  const overlapS = Number(fields('overlap'));
  if (key === null || !OVERLAPS_S.includes(overlapS)) return notFound(context);
  const random = bytesOfForm(tools.secret, fields(TOKEN_FIELD), `rotate ${key.id}`, RANDOM_BYTES);
  try {
    const rotated = await rotateKey(tools.sql, key.id, overlapS, actorOf(user), generateSecret(random));
    return keysPage(context, rotated, null);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return keysPage(context, null, { message: messages.notRotated, status: 409 });
  }
}

/** GET /dashboard/keys/:id/rename */
export async function askName(context: MemberContext): Promise<PageResponse> {
  return namePage(context, null);
}

/** POST /dashboard/keys/:id/rename */
export async function rename(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, fields, user } = context;
  const name = fields('name').trim();
  if (!isName(name)) return namePage(context, refusedFields({ name: messages.keyNameInvalid }));
  const key = await activeKey(context);
  if (key === null) return notFound(context);
  await renameKey(tools.sql, key.id, name, actorOf(user));
  return redirectTo(context, '/keys?done=renamed');
}

async function namePage(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
  const { tools, messages, fields } = context;
  const key = await activeKey(context);
  if (key === null) return notFound(context);
  const body = html`
<section class="card sheet confirm">
  <h1>${messages.renameTitle(nameOf(key, context))}</h1>
  ${refusalAlert(refusal)}
  <form method="post" action="${tools.base}/keys/${key.id}/rename">
    ${token(context)}
    ${field({ name: 'name', label: messages.keyName, hint: messages.keyNameHint, value: refusal === null ? key.name : fields('name'), autocomplete: 'off', ...stateOf(refusal, 'name', 'name') })}
    <div class="actions">
      <button type="submit">${messages.rename}</button>
      <a class="button quiet" href="${tools.base}/keys">${messages.cancel}</a>
    </div>
  </form>
</section>`;
  const status = refusal === null ? {} : { status: refusal.status };
  return memberPage(context, { section: '/keys', title: messages.rename, body, ...status });
}

/** The key of the path, if it is the member's own and not revoked. */
async function activeKey(context: MemberContext) {
  const key = await ownKey(context);
  return key?.revoked === null ? key : null;
}

const notFound = (context: MemberContext) =>
  messagePage(context, 404, context.messages.notFound, context.messages.notFoundLead);
