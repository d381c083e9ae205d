// What the pages do beyond HTML; without it everything still works but the copy buttons.

for (const button of document.querySelectorAll('[data-copy]')) {
  const source = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = button.dataset.copied;
      setTimeout(() => {
        button.textContent = label;
      }, 2000);
    } catch {
      // No clipboard here (an address that isn't secure): select it, so that Ctrl-C copies it.
      getSelection().selectAllChildren(source);
    }
  });
}

// A new key is the answer to a POST: reloading the page must not create another.
if (document.querySelector('[data-forget-form]')) history.replaceState(null, '', location.pathname);

// A page that the browser brings back from memory would show a secret, or another member's figures, after a sign-out.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
