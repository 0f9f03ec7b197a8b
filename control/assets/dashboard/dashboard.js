// Of every page; each page works without it. Buttons that copy, and buttons that open a dialog, are there only where this runs. Loaded before
// the page is drawn, so that nothing moves when they come.
"use strict";
document.documentElement.classList.add("scripted");

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies], [data-opens]");
  if (!button) {
    return;
  }
  if (button.dataset.opens) {
    const dialog = document.getElementById(button.dataset.opens);
    if (dialog?.showModal) {
      // A link leads to the same on a page of its own.
      event.preventDefault();
      dialog.showModal();
    }
    return;
  }
  const source = document.getElementById(button.dataset.copies);
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(source.innerText.trim());
    button.textContent = "Copied";
  } catch {
    // No clipboard on pages without TLS: the text is marked, to be copied by hand.
    getSelection().selectAllChildren(source);
    button.textContent = "Marked: copy it";
  }
  setTimeout(() => (button.textContent = label), 3000);
});
