import { RefusedError } from '../../errors.ts';
import { OVERLAP_S, rotateKey } from '../../keys/rotate.ts';
import { generateSecret, RANDOM_BYTES } from '../../keys/secret.ts';
import { renameKey } from '../../keys/store.ts';
import { isName } from '../../names.ts';
import { DAY, SECOND } from '../../units.ts';
import { actorOf } from '../auth/members.ts';
import { bytesOfForm, TOKEN_FIELD } from '../request/csrf.ts';
import { type MemberVisit, type Reply, redirectTo } from '../request/visit.ts';
import { html } from '../ui/html.ts';
import { field, memberPage, messagePage, token } from '../ui/layout.ts';
import { type Refusal, refusalAlert, refusedFields, stateOf } from './entry.ts';
import { keysPage, nameOf, ownKey } from './keys.ts';

/** The choices of the form, in seconds. */
const OVERLAPS_S = [OVERLAP_S.default, (7 * DAY) / SECOND, OVERLAP_S.max, 0];

/** GET /dashboard/keys/:id/rotate: asks how long the previous secret is to work. */
export async function askRotate(visit: MemberVisit): Promise<Reply> {
  const { texts, tools, formats } = visit;
  const key = await activeKey(visit);
  if (key === null) return notFound(visit);
  const label = (seconds: number) => (seconds === 0 ? texts.overlapNone : formats.duration(seconds * SECOND));
  const body = html`
<section class="card sheet confirm">
  <h1>${texts.rotateTitle(nameOf(key, visit))}</h1>
  <p>${texts.rotateLead}</p>
  <form method="post" action="${tools.base}/keys/${key.id}/rotate">
    ${token(visit)}
    <div class="field">
      <label for="overlap">${texts.overlap}</label>
      <select id="overlap" name="overlap">${OVERLAPS_S.map(
        (seconds) => html`<option value="${seconds}">${label(seconds)}</option>`,
      )}</select>
    </div>
    <div class="actions">
      <button type="submit">${texts.rotateButton}</button>
      <a class="button quiet" href="${tools.base}/keys">${texts.cancel}</a>
    </div>
  </form>
</section>`;
  return memberPage(visit, { section: '/keys', title: texts.rotate, body });
}

/** POST /dashboard/keys/:id/rotate. A form that is sent twice rotates once, and both answers show the new secret. */
export async function rotate(visit: MemberVisit): Promise<Reply> {
  const { tools, texts, fields, user } = visit;
  const key = await activeKey(visit);
  const overlapS = Number(fields('overlap'));
  if (key === null || !OVERLAPS_S.includes(overlapS)) return notFound(visit);
  const random = bytesOfForm(tools.secret, fields(TOKEN_FIELD), `rotate ${key.id}`, RANDOM_BYTES);
  try {
    const rotated = await rotateKey(tools.sql, key.id, overlapS, actorOf(user), generateSecret(random));
    return keysPage(visit, rotated, null);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return keysPage(visit, null, { message: texts.notRotated, status: 409 });
  }
}

/** GET /dashboard/keys/:id/rename */
export async function askName(visit: MemberVisit): Promise<Reply> {
  return namePage(visit, null);
}

/** POST /dashboard/keys/:id/rename */
export async function rename(visit: MemberVisit): Promise<Reply> {
  const { tools, texts, fields, user } = visit;
  const name = fields('name').trim();
  if (!isName(name)) return namePage(visit, refusedFields({ name: texts.keyNameInvalid }));
  const key = await activeKey(visit);
  if (key === null) return notFound(visit);
  await renameKey(tools.sql, key.id, name, actorOf(user));
  return redirectTo(visit, '/keys?done=renamed');
}

async function namePage(visit: MemberVisit, refusal: Refusal | null): Promise<Reply> {
  const { tools, texts, fields } = visit;
  const key = await activeKey(visit);
  if (key === null) return notFound(visit);
  const body = html`
<section class="card sheet confirm">
  <h1>${texts.renameTitle(nameOf(key, visit))}</h1>
  ${refusalAlert(refusal)}
  <form method="post" action="${tools.base}/keys/${key.id}/rename">
    ${token(visit)}
    ${field({ name: 'name', label: texts.keyName, hint: texts.keyNameHint, value: refusal === null ? key.name : fields('name'), autocomplete: 'off', ...stateOf(refusal, 'name', 'name') })}
    <div class="actions">
      <button type="submit">${texts.rename}</button>
      <a class="button quiet" href="${tools.base}/keys">${texts.cancel}</a>
    </div>
  </form>
</section>`;
  const status = refusal === null ? {} : { status: refusal.status };
  return memberPage(visit, { section: '/keys', title: texts.rename, body, ...status });
}

/** The key of the path, if it is the member's own and not revoked. */
async function activeKey(visit: MemberVisit) {
  const key = await ownKey(visit);
  return key?.revoked === null ? key : null;
}

const notFound = (visit: MemberVisit) =>
  messagePage(visit, 404, visit.texts.notFound, visit.texts.notFoundLead);
