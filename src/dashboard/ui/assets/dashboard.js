// Pages work without this script, except for the buttons that copy.

const create = (tag, properties) => Object.assign(document.createElement(tag), properties);

// A second click must not send a form again. A flag, because a disabled button would take its value out of the form. It ends with
// the page, or after a wait that no answer exceeds: an answer that is a file leaves the page as it is.
addEventListener('submit', (event) => {
  const form = event.target;
  if (form.ariaBusy === 'true') return event.preventDefault();
  form.ariaBusy = 'true';
  setTimeout(() => form.removeAttribute('aria-busy'), 20_000);
});

for (const button of document.querySelectorAll('[data-copy]')) {
  const source = document.getElementById(button.dataset.copy);
  const { textContent: label, ariaLabel: name } = button;
  const say = (textContent, ariaLabel = textContent) => Object.assign(button, { textContent, ariaLabel });
  Object.assign(button, { hidden: false, ariaLive: 'polite' });
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      say(button.dataset.copied);
    } catch {
      // No clipboard at an address that isn't secure: the text is selected, to be copied by hand.
      getSelection().selectAllChildren(source);
      say(document.body.dataset.press);
    }
    setTimeout(say, 2000, label, name);
  });
}

// A file is read here, and its rows go into the text field. A workbook is none that can be read. Rows of a long text keep their
// numbers of nine digits and their beginning, because a form has a bound. Without this script they are pasted.
const LONG_TEXT = 100_000;
const LONG_ROW = 60;
const NUMBERS = /\d{3}(?:\d{6}|[ \u00a0\u202f.-]\d{3}[ \u00a0\u202f.-]\d{3})/g;
const shortRow = (row) =>
  row.length > LONG_ROW
    ? `${(row.match(NUMBERS) ?? []).join(' ')} ${row.slice(0, LONG_ROW).replace(NUMBERS, '')}`
    : row;
const shortRows = (text) => (text.length > LONG_TEXT ? text.split(/\r?\n/).map(shortRow).join('\n') : text);
for (const field of document.querySelectorAll('[data-file-for]')) {
  const text = document.getElementById(field.dataset.fileFor);
  const workbook = field.querySelector('[data-workbook]');
  field.hidden = false;
  field.addEventListener('change', async ({ target }) => {
    const [file] = target.files;
    if (file === undefined) return;
    workbook.hidden = !/\.(xls[xmb]?|ods|numbers)$/i.test(file.name);
    if (!workbook.hidden) return;
    text.value = shortRows(await file.text());
    text.focus();
  });
  text.form.addEventListener('submit', () => {
    text.value = shortRows(text.value);
  });
}

// The companies that are chosen for names travel as one field.
addEventListener('change', ({ target }) => {
  if (!target.matches('[data-line]')) return;
  const chosen = [...document.querySelectorAll('[data-line]')].filter(({ value }) => value !== '');
  document.querySelector('[name=choices]').value = chosen
    .map(({ dataset, value }) => `${dataset.line}:${value}`)
    .join(' ');
});

// A list that was sent without a session is in its field again after the sign-in, in this tab alone.
const kept = document.querySelector('[data-keep]');
const list = document.querySelector('[name=list]:not([data-keep])');
if (kept !== null) sessionStorage.setItem('list', kept.value);
if (list?.value === '') {
  list.value = sessionStorage.getItem('list') ?? '';
  sessionStorage.removeItem('list');
}

// A button beside each password shows the typed text.
for (const input of document.querySelectorAll('input[type=password]')) {
  const { show, hide } = document.body.dataset;
  const button = create('button', { type: 'button', className: 'small quiet' });
  button.setAttribute('aria-controls', input.id);
  const set = (type, textContent) => {
    input.type = type;
    // Its name says of which field it is, and what it does now.
    Object.assign(button, { textContent, ariaLabel: `${textContent}: ${input.labels[0].textContent}` });
  };
  set('password', show);
  button.addEventListener('click', () => (input.type === 'text' ? set('password', show) : set('text', hide)));
  const row = create('div', { className: 'password' });
  input.replaceWith(row);
  row.append(input, button);
  if (input.autofocus) input.focus();
}

// Everything is in UTC, as the service counts. The reader's own time stands behind it, if it differs.
const locale = document.documentElement.lang.replace(/^en$/, 'en-GB');
for (const time of document.querySelectorAll('time[datetime*=T]')) {
  const at = new Date(time.dateTime);
  if (at.getTimezoneOffset() === 0) continue;
  const day = at.getDate() === at.getUTCDate() ? {} : { day: 'numeric', month: 'short' };
  const own = at.toLocaleString(locale, { ...day, hour: '2-digit', minute: '2-digit' });
  time.append(create('small', { textContent: ` (${own} ${document.body.dataset.local})` }));
}

// A menu closes at a press beside it, and at Escape, which otherwise leaves a question. An input method has its own Escape.
for (const event of ['click', 'keydown'])
  addEventListener(event, ({ target, key, isComposing }) => {
    if (isComposing) return;
    const menu = document.querySelector('.menu[open]');
    if (menu === null && key === 'Escape') document.querySelector('button.bad + a')?.click();
    if (menu === null || (key === undefined ? menu.contains(target) : key !== 'Escape')) return;
    if (key !== undefined) menu.firstElementChild.focus();
    menu.open = false;
  });

// The success of a form is shown once, not again at each reload.
if (new URLSearchParams(location.search).has('done')) {
  const address = new URL(location.href);
  address.searchParams.delete('done');
  history.replaceState(null, '', address);
}

// One choice of a language for all examples.
addEventListener('change', ({ target }) => {
  if (!target.matches('.samples input')) return;
  for (const other of document.querySelectorAll(`.samples input[value=${target.value}]`))
    other.checked = true;
});

// A new key is the answer to a POST: reloading the page must not create another. After a refused form, Back opens its page, where the
// browser would only say that its document has expired.
const answered = document.querySelector('[data-forget-form]');
if (answered !== null) history.replaceState(null, '', answered.dataset.forgetForm || location.pathname);

// A page that the browser brings back from memory would show a secret, or another member's figures, after a sign-out.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

// The values of a bar, at a touch, under the pointer, and by the arrow keys.
function showBar(plot, bar) {
  plot.querySelector('.shown')?.classList.remove('shown');
  bar.classList.add('shown');
  plot.querySelector('output').textContent = bar.firstElementChild.textContent.replaceAll('\n', ' · ');
}
for (const event of ['pointerover', 'pointerdown'])
  addEventListener(event, ({ target }) => {
    const bar = target.closest?.('.plot g');
    if (bar) showBar(bar.closest('.plot'), bar);
  });
addEventListener('focusin', ({ target }) => {
  const bars = target.matches('.plot svg') ? target.querySelectorAll('g') : [];
  if (bars.length > 0 && !target.querySelector('.shown'))
    showBar(target.closest('.plot'), bars[bars.length - 1]);
});
addEventListener('keydown', ({ target, key }) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (step === undefined || !target.matches?.('.plot svg')) return;
  const bars = [...target.querySelectorAll('g')];
  const next = bars[bars.findIndex((bar) => bar.classList.contains('shown')) + step];
  if (next) showBar(target.closest('.plot'), next);
});
