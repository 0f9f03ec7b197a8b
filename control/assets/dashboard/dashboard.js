// Of every page; each page works without it. Buttons that copy, and buttons that open a dialog, are there only where this runs. Loaded before
// the page is drawn, so that nothing moves when they come.
"use strict";
document.documentElement.classList.add("scripted");

// A form is sent once: the answer to a second press would take the place of the first one's, which may show what is shown once. Last of all listeners,
// for what others have prevented was not sent. Forms whose answer is a file stay on their page. No answer may come: then it can be sent again after a
// while, and at once with something else in it.
const PAUSE = 10_000;
let sent = new WeakSet();
addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || "again" in form.dataset || form.method === "dialog") {
    return;
  }
  if (sent.has(form)) {
    event.preventDefault();
    say("This was sent, and the answer is on its way. If none comes, try again in a moment.");
  } else {
    sent.add(form);
    setTimeout(() => sent.delete(form), PAUSE);
  }
});
addEventListener("input", (event) => sent.delete(event.target.form));
addEventListener("pageshow", (event) => {
  sent = new WeakSet();
  // What is shown once is not shown again to whoever goes back in this browser; by the address, for the page may be the answer to a form.
  if (event.persisted && document.querySelector(".secret")) {
    location.replace(location.pathname + location.search);
  }
});

// Says something in a toast, which is read out as well.
const say = (text) => {
  let toast = document.getElementById("toast");
  if (!toast) {
    toast = document.createElement("p");
    toast.id = "toast";
    toast.className = "toast";
    toast.setAttribute("aria-live", "polite");
    toast.setAttribute("role", "status");
  }
  // What is outside of an open dialog is neither heard nor seen.
  (document.querySelector("dialog[open]") ?? document.body).append(toast);
  clearTimeout(say.next);
  // A place that was just made says nothing yet.
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
      // A link leads to the same on a page of its own.
      event.preventDefault();
      dialog.showModal();
    }
    return;
  }
  const source = document.getElementById(button.dataset.copies);
  // Pressed again, it may still say what it has done.
  button.dataset.label ??= button.textContent;
  try {
    await navigator.clipboard.writeText(source.innerText.trim());
    button.textContent = "Copied";
    say("Copied");
  } catch {
    // No clipboard on pages without TLS: the text is marked, to be copied by hand.
    getSelection().selectAllChildren(source);
    button.textContent = "Marked: copy it";
    say("Marked: copy it");
  }
  setTimeout(() => (button.textContent = button.dataset.label), 3000);
});
