// For every page; each page works without it. Copy buttons and buttons that open a dialog appear only with this script. It loads before the first paint,
// so that they cause no layout shift.
"use strict";
document.documentElement.classList.add("scripted");

// Prevents double submits: the second response would replace the first, which may show a secret that is shown only once. This listener is the last, since a
// submit that others prevented was not sent. Forms whose response is a download are exempt. In case no response comes, a form can be submitted again after
// a pause, or immediately once its input changes.
const PAUSE = 10_000;
let sent = new WeakSet();
addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || "again" in form.dataset || form.method === "dialog") {
    return;
  }
  if (sent.has(form)) {
    event.preventDefault();
    say("Already submitted. If nothing happens, try again in a moment.");
  } else {
    sent.add(form);
    setTimeout(() => sent.delete(form), PAUSE);
  }
});
addEventListener("input", (event) => sent.delete(event.target.form));
addEventListener("pageshow", (event) => {
  sent = new WeakSet();
  // Going back in this browser does not show a secret again. Loads the page by its address, since it may be the response to a form.
  if (event.persisted && document.querySelector(".secret")) {
    location.replace(location.pathname + location.search);
  }
});

// Shows a toast, which screen readers announce.
const say = (text) => {
  let toast = document.getElementById("toast");
  if (!toast) {
    toast = document.createElement("p");
    toast.id = "toast";
    toast.className = "toast";
    toast.setAttribute("aria-live", "polite");
    toast.setAttribute("role", "status");
  }
  // Outside an open dialog, a toast is neither visible nor announced.
  (document.querySelector("dialog[open]") ?? document.body).append(toast);
  clearTimeout(say.next);
  // A live region that was just created announces nothing yet.
  say.next = setTimeout(() => {
    toast.textContent = text;
    say.next = setTimeout(() => (toast.textContent = ""), 6000);
  }, 100);
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies], [data-opens], [data-says]");
  if (!button) {
    return;
  }
  if (button.dataset.says) {
    say(button.dataset.says);
    return;
  }
  if (button.dataset.opens) {
    const dialog = document.getElementById(button.dataset.opens);
    if (dialog?.showModal) {
      // Without dialogs, the link leads to a page of its own.
      event.preventDefault();
      dialog.showModal();
    }
    return;
  }
  const source = document.getElementById(button.dataset.copies);
  // Keeps the first label, since a second press may come while it says "Copied".
  button.dataset.label ??= button.textContent;
  try {
    await navigator.clipboard.writeText(source.innerText.trim());
    button.textContent = "Copied";
    say("Copied");
  } catch {
    // Pages without TLS have no clipboard: selects the text, to copy by hand.
    getSelection().selectAllChildren(source);
    button.textContent = "Selected: copy it now";
    say("Selected: copy it now");
  }
  setTimeout(() => (button.textContent = button.dataset.label), 3000);
});
