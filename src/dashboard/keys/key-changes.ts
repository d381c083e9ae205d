import { KeyExistsError, renameKey, revokeKey } from '../../metering/keys/key-store.ts';
import { OVERLAP_S, ROTATIONS_PER_DAY, RotationError, rotateKey } from '../../metering/keys/rotate.ts';
import { generateSecret, RANDOM_BYTES } from '../../metering/keys/secret.ts';
import { DAY, SECOND } from '../../platform/units.ts';
import { changesOf, limited } from '../auth/limits.ts';
import { actorOf } from '../auth/members.ts';
import { bytesOfForm, TOKEN_FIELD } from '../request/csrf.ts';
import { redirectTo, refuse } from '../request/forms.ts';
import { notFoundPage } from '../request/layout.ts';
import { html } from '../ui/html.ts';
import { keyPage } from './key.ts';
import { keyForm, keyName, lastUse } from './key-parts.ts';
import { showKeys } from './keys.ts';

/** The choices of the form, in seconds. */
const OVERLAPS_S = [OVERLAP_S.default, (7 * DAY) / SECOND, OVERLAP_S.max, 0];

/**
 * /dashboard/keys/:id/rotate: asks how long the previous secret is to work. A form that is sent twice rotates once, and both
 * answers show the new secret.
 */
export const rotate = keyForm({
  form: ({ messages, formats }, key) => ({
    title: messages.rotateTitle(keyName(key, messages)),
    lead: html`<p>${messages.rotateLead}</p>`,
    fields: [
      {
        name: 'overlap',
        label: messages.overlap,
        options: OVERLAPS_S.map((seconds) => [
          String(seconds),
          seconds === 0 ? messages.overlapNone : formats.duration(seconds * SECOND),
        ]),
      },
    ],
    focus: false,
    button: messages.rotate,
  }),
  async submit(context, key) {
    const { tools, messages, formats, sent, user } = context;
    const overlapS = Number(sent('overlap'));
    if (!OVERLAPS_S.includes(overlapS)) return notFoundPage(context);
    const random = bytesOfForm(tools.secret, sent(TOKEN_FIELD), `rotate ${key.id}`, RANDOM_BYTES);
    const secret = generateSecret(random, key.test);
    try {
      return showKeys(context, null, {
        ...(await rotateKey(tools.sql, key.id, overlapS, actorOf(user), secret)),
        only: key.only,
      });
    } catch (error) {
      const reason =
        error instanceof KeyExistsError ? 'repeated' : error instanceof RotationError && error.reason;
      if (!reason) throw error;
      const text = messages.notRotated[reason];
      const message = typeof text === 'string' ? text : text(formats.number(ROTATIONS_PER_DAY));
      return keyPage(context, refuse(409, { message }));
    }
  },
});

/** /dashboard/keys/:id/rename */
export const rename = keyForm({
  ofConnections: true,
  form: ({ messages }, key) => ({
    title: messages.renameTitle(keyName(key, messages)),
    fields: [{ name: 'name', label: messages.name, hint: messages.keyNameHint, value: key.name }],
    button: messages.rename,
  }),
  checks: ['name'],
  async submit(context, key) {
    const { tools, sent, user } = context;
    const name = sent('name').trim();
    if (name !== key.name) {
      const refusal = await limited(context, [changesOf(user, 'key-renamed')]);
      if (refusal !== null) return refusal;
      await renameKey(tools.sql, key.id, name, actorOf(user));
    }
    return redirectTo(context, `/keys/${key.id}?done=saved`);
  },
});

/** /dashboard/keys/:id/revoke: asks once more. */
export const revoke = keyForm({
  ofConnections: true,
  form: (context, key) => ({
    title: context.messages[key.connection ? 'connectionEndTitle' : 'revokeTitle'](
      keyName(key, context.messages),
    ),
    lead: html`
<p>${key.connection ? context.messages.connectionEndLead : context.messages.revokeLead(key.start)}</p>
<p>${context.messages.lastUsed}: <strong>${lastUse(context, key)}</strong></p>`,
    button: context.messages[key.connection ? 'connectionEnd' : 'revokeButton'],
    look: 'bad',
  }),
  async submit(context, key) {
    await revokeKey(context.tools.sql, key.id, actorOf(context.user));
    return redirectTo(context, key.connection ? '/keys?done=ended' : '/keys?done=revoked');
  },
});
