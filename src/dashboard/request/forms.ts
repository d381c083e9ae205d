import { isName } from '../../platform/names.ts';
import { MINUTE, SECOND } from '../../platform/units.ts';
import type { PageContext, PageResponse } from '../context.ts';
import type { Messages } from '../messages.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { TOKEN_FIELD } from './csrf.ts';
import { PASSWORD, passwordRefusal } from './passwords.ts';
import { isEmail } from './read-form.ts';
import { keptQuery, pathBelow } from './return-path.ts';

/** Why a sent form is refused. */
export interface Refusal extends RefusalReason {
  /** Tells it from a page. */
  refused: true;
  status: number;
}

interface RefusalReason {
  /** Shown above the form. */
  message?: string;
  /** By the name of a field, in the order of the form: shown at the fields. */
  faults?: Record<string, HtmlValue>;
  headers?: Record<string, string>;
}

/** Refuses a sent form. Without a reason the page itself says why. */
export function refuse(status: number, reason: RefusalReason = {}): Refusal {
  return { refused: true, status, ...reason };
}

/** A sent field that has one rule in every form. `password` is a new one. */
export type Checked = 'name' | 'email' | 'password';

/** Redirects to another page of the dashboard, after a form has done its work. */
export function redirectTo({ tools }: PageContext, path: string, cookies: string[] = []): PageResponse {
  return { redirect: tools.base + path, cookies };
}

/** The refusal because of faulty fields; `null` if no field has a fault. */
export function refusalOf(faults: Record<string, HtmlValue>): Refusal | null {
  const found = Object.entries(faults).filter(([, fault]) => fault);
  return found.length === 0 ? null : refuse(422, { faults: Object.fromEntries(found) });
}

/**
 * The faults of sent fields, falsy for fields without one.
 * @param email of the user that gets a new password, if neither the form nor the session has it
 */
export function faultsOf({ messages, sent, session, tools }: PageContext, names: Checked[], email = '') {
  const rules = {
    name: () => !isName(sent('name').trim()) && messages.nameInvalid,
    email: () => !isEmail(sent('email').trim()) && messages.emailInvalid,
    password() {
      const about = [new URL(tools.publicUrl).hostname, email, sent('email'), sent('name')];
      if (session !== null) about.push(session.user.email, session.user.name);
      return passwordRefusal(messages, sent('password'), about);
    },
  };
  return Object.fromEntries(names.map((name) => [name, rules[name]()]));
}

/** The refusal of an attempt that comes too early. @param retryAfterS `null` means that it does not */
export function tooMany({ messages, formats }: PageContext, retryAfterS: number | null): Refusal | null {
  if (retryAfterS === null) return null;
  const waitS = Math.max(1, Math.ceil(retryAfterS));
  const wait = formats.duration(Math.ceil((waitS * SECOND) / MINUTE) * MINUTE);
  return refuse(429, { message: messages.tooMany(wait), headers: { 'Retry-After': String(waitS) } });
}

/** The hidden field without which a form is refused. */
export function tokenField({ formToken }: PageContext): Html {
  return html`<input type="hidden" name="${TOKEN_FIELD}" value="${formToken}">`;
}

/** The failure of a form, which a screen reader announces at once. */
export function failureNotice(message: string | null | undefined): HtmlValue {
  return message && html`<p class="notice bad" role="alert">${message}</p>`;
}

type Box = [name: string, label: string, isTicked: boolean];

/** A labelled input that must be filled in, unless it is `optional`. */
export interface Field {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password' | 'search' | 'date';
  /** The value before the form is sent. */
  value?: string;
  /** The values and labels of a list to choose from. */
  options?: [value: string, label: string][];
  /** Boxes to tick, each with a name, which is sent as `yes`. */
  boxes?: Box[];
  /** Whether the boxes are folded unless one is ticked. */
  isFolded?: true;
  hint?: string;
  autocomplete?: string;
  maxLength?: number;
  minLength?: number;
  optional?: boolean;
  /** The keyboard of a phone. */
  inputMode?: 'numeric';
}

/** The field in which a user gives an email. By default it is the email of their sign-in. */
export function emailField(label: string, autocomplete = 'username'): Field {
  return { name: 'email', label, type: 'email', autocomplete, maxLength: 254 };
}

/** The field in which a user chooses a password. */
export function newPassword(messages: Messages, label: string): Field {
  return {
    name: 'password',
    label,
    type: 'password',
    hint: messages.passwordHint(String(PASSWORD.min)),
    autocomplete: 'new-password',
    minLength: PASSWORD.min,
    maxLength: PASSWORD.max,
  };
}

/** The field for a password that exists. */
export function password(name: string, label: string): Field {
  return { name, label, type: 'password', autocomplete: 'current-password', maxLength: PASSWORD.max };
}

/** The field in which a member confirms a change by their password. */
export function presentPassword(messages: Messages): Field {
  return password('present', messages.presentPassword);
}

/** @param fault of the sent value */
export function field(field: Field & { fault?: HtmlValue; focus?: boolean }): Html {
  if (field.boxes !== undefined) return boxesOf(field);
  const { name, label, type = 'text', value = '', options, hint, maxLength = 200, minLength } = field;
  const described = [field.fault && `${name}-fault`, hint && `${name}-hint`].filter(Boolean).join(' ');
  const states = html`${described !== '' && html` aria-describedby="${described}"`}${field.fault && html` aria-invalid="true"`}${field.focus === true && html` autofocus`}`;
  return html`
<div class="field">
  <label for="${name}">${label}</label>
  ${
    options === undefined
      ? html`<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${field.autocomplete ?? 'off'}"${field.optional !== true && html` required`}
    maxlength="${maxLength}"${minLength !== undefined && html` minlength="${minLength}"`}${states}${field.inputMode && html` inputmode="${field.inputMode}"`}${['text', 'search'].includes(type) && html` spellcheck="false"`}>`
      : html`<select id="${name}" name="${name}"${states}>${options.map(([option, label]) => html`<option value="${option}"${option === value && html` selected`}>${label}</option>`)}</select>`
  }
  ${field.fault && html`<p class="fault" id="${name}-fault" role="alert">${field.fault}</p>`}
  ${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
</div>`;
}

const isTicked = ([, , isTicked]: Box) => isTicked;

function boxesOf({ name, label, hint, boxes = [], isFolded }: Field): Html {
  const labels = boxes.map(
    ([box, text, isTicked]) =>
      html`<label><input type="checkbox" name="${box}" value="yes"${isTicked && html` checked`}> ${text}</label>`,
  );
  if (isFolded)
    return html`<details${boxes.some(isTicked) && html` open`}><summary>${label}</summary><fieldset class="boxes" aria-label="${label}">${labels}</fieldset></details>`;
  return html`
<fieldset class="field boxes"${hint !== undefined && html` aria-describedby="${name}-hint"`}>
  <legend>${label}</legend>
  ${labels}
  ${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
</fieldset>`;
}

export interface Form {
  /** Below the dashboard. Absent: the page's own. */
  path?: string;
  fields?: Field[];
  /** Fields that most users leave as they are, folded unless one has a value or a fault. */
  folded?: { label: string; fields: Field[] };
  /** Values that the user doesn't see. */
  hidden?: Record<string, string>;
  /** The email that a password manager stores the password with. */
  username?: string;
  button: string;
  /** The button's name for screen readers, if others on the page have the same text. */
  buttonName?: string;
  refusal?: Refusal | null;
  /** Whether the first field gets the focus, if none has a fault. */
  focus?: boolean;
  /** The page that a link beside the button leads back to. */
  cancel?: string;
  /** The page that a browser opens again if the form was refused. By default that of `path`. */
  back?: string;
  /** `bad` for a button whose effect can't be undone. */
  look?: 'bad' | 'quiet' | 'small quiet';
}

/** A form, and above it the refusal that is about none of its fields. */
export function form(context: PageContext, options: Form): Html {
  const { messages, tools, url, sent } = context;
  // The query stays, so that the address of a refused form opens its page again.
  const { path = pathBelow(url) + keptQuery(url), fields = [], hidden = {}, username } = options;
  const { refusal, cancel, look, buttonName, folded } = options;
  const faults = refusal?.faults ?? {};
  const focused = Object.keys(faults)[0] ?? (options.focus !== false && fields[0]?.name);
  const currentValue = ({ name, type, value = '' }: Field) => {
    if (type === 'password') return '';
    return refusal ? sent(name) : value;
  };
  const asSent = ([box, label]: Box): Box => [box, label, sent(box) === 'yes'];
  const filledIn = (one: Field) => ({
    ...one,
    ...(one.boxes && refusal && { boxes: one.boxes.map(asSent) }),
    value: currentValue(one),
    fault: faults[one.name],
    focus: one.name === focused,
  });
  const rest = folded?.fields.map(filledIn) ?? [];
  const isOpen = rest.some(
    ({ fault, options, value, boxes = [] }) =>
      fault || (options === undefined && value !== '') || boxes.some(isTicked),
  );
  return html`
${refusal?.faults === undefined && failureNotice(refusal?.message)}
<form${refusal != null && html` data-forget-form="${tools.base}${options.back ?? path}"`} method="post" action="${tools.base}${path}">
  ${tokenField(context)}
  ${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
  ${username !== undefined && html`<input class="unseen" type="email" name="username" value="${username}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">`}
  ${fields.map((one) => field(filledIn(one)))}
  ${folded !== undefined && html`<details${isOpen && html` open`}><summary>${folded.label}</summary><div>${rest.map((one) => field(one))}</div></details>`}
  <div class="actions">
    <button${look !== undefined && html` class="${look}"`}${buttonName !== undefined && html` aria-label="${buttonName}"`} type="submit">${options.button}</button>
    ${cancel !== undefined && html`<a class="button quiet" href="${tools.base}${cancel}">${messages.cancel}</a>`}
  </div>
</form>`;
}
