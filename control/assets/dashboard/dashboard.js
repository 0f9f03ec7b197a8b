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
// The browser's Back button leads to the form again, instead of to the response to it, which browsers ask to submit again. A page with a secret stays
// what it is: without the form, its secret is gone.
addEventListener("DOMContentLoaded", () => {
  if (!document.querySelector(".secret")) {
    history.replaceState(history.state, "");
  }
});
addEventListener("pageshow", (event) => {
  sent = new WeakSet();
  // A filter says what the list below it shows, not what was chosen before another list was opened.
  if (event.persisted) {
    document.querySelectorAll("form[autocomplete=off]").forEach((form) => form.reset());
  }
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

// A slider sets the field with the number to one of its steps, and follows it to the nearest one below.
document.addEventListener("DOMContentLoaded", () => {
  for (const slider of document.querySelectorAll("[data-sets]")) {
    const field = document.getElementById(slider.dataset.sets);
    const steps = slider.dataset.steps.split(" ").map(Number);
    const follow = () => {
      slider.value = Math.max(0, steps.findLastIndex((step) => step <= Number.parseFloat(field.value)));
      slider.setAttribute("aria-valuetext", `${field.value}%`);
    };
    slider.addEventListener("input", () => {
      field.value = steps[slider.value];
      slider.setAttribute("aria-valuetext", `${field.value}%`);
    });
    field.addEventListener("input", follow);
    follow();
  }
});

// Menus in the header close on Escape, on a click elsewhere, and when the focus leaves them.
const closeMenus = (besides) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(besides)) {
      menu.open = false;
    }
  }
};
document.addEventListener("click", (event) => closeMenus(event.target));
document.addEventListener("focusin", (event) => closeMenus(event.target));
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.activeElement?.closest("details.menu[open]");
  if (menu) {
    menu.querySelector("summary").focus();
  }
  if (event.key === "Escape") {
    closeMenus(null);
  }
});
// The list of apps to switch to is fetched when its menu opens. Without it, the menu has a link to all apps.
document.addEventListener(
  "toggle",
  async (event) => {
    const place = event.target.open ? event.target.querySelector("[data-loads]") : null;
    if (!place || place.firstElementChild) {
      return;
    }
    try {
      const response = await fetch(place.dataset.loads);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const list = page.querySelector("ul.switch");
      if (list) {
        list.querySelectorAll("a").forEach((link) => {
          if (`${location.pathname}/`.startsWith(`${link.pathname}/`)) {
            link.setAttribute("aria-current", "true");
          }
        });
        place.replaceChildren(list);
      }
    } catch {
      // The link is there.
    }
  },
  true,
);

// Keys: `/` searches, `g` and a letter opens the page of a link with that letter in `data-go`, `?` lists them. They can be turned off, since people who
// speak to their computer may press them unintentionally.
const AFTER_G = 1500;
let pressedG = -Infinity;
const areKeysOff = () => {
  try {
    return localStorage.getItem("keys") === "off";
  } catch {
    return false;
  }
};
const searchField = () => document.querySelector("main input[type=search]");
const showKeys = () => {
  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const row = (keys, text) => {
    const name = element("dt", {});
    keys.forEach((key, index) => name.append(index > 0 ? " then " : "", element("kbd", { textContent: key })));
    return element("div", {}, name, element("dd", { textContent: text }));
  };
  const links = new Map([...document.querySelectorAll("[data-go]")].map((link) => [link.dataset.go, link.textContent]));
  const searches = searchField() ? "Search" : "Search apps";
  const rows = [row(["/"], searches), ...[...links].map(([key, text]) => row(["g", key], text)), row(["?"], "Keyboard shortcuts")];
  const title = element("h2", { id: "keys-title", textContent: "Keyboard shortcuts" });
  const box = element("input", { type: "checkbox", checked: !areKeysOff() });
  box.addEventListener("change", () => {
    try {
      localStorage.setItem("keys", box.checked ? "on" : "off");
    } catch {
      say("This browser does not store the choice.");
    }
  });
  const close = element("button", { type: "button", className: "second", textContent: "Close" });
  const dialog = element("dialog", {}, title, element("dl", { className: "facts" }, ...rows), element("label", { className: "check" }, box, "Use keyboard shortcuts"), element("div", { className: "actions" }, close));
  dialog.setAttribute("aria-labelledby", "keys-title");
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
};
const search = () => {
  const field = searchField();
  const apps = document.getElementById("apps-link");
  if (field) {
    field.focus();
    field.select();
  } else if (apps) {
    location.assign(`${apps.href}#q`);
  }
};
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, select, textarea, [contenteditable]");
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping || areKeysOff() || document.querySelector("dialog[open]")) {
    return;
  }
  const isAfterG = event.timeStamp - pressedG < AFTER_G;
  pressedG = -Infinity;
  const link = isAfterG ? document.querySelector(`[data-go="${CSS.escape(event.key)}"]`) : null;
  if (link) {
    event.preventDefault();
    location.assign(link.href);
  } else if (event.key === "g") {
    pressedG = event.timeStamp;
  } else if (event.key === "/") {
    event.preventDefault();
    search();
  } else if (event.key === "?") {
    event.preventDefault();
    showKeys();
  }
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-shortcuts]")) {
    showKeys();
  }
});

addEventListener("DOMContentLoaded", () => {
  const field = document.querySelector("[data-filters]");
  if (location.hash === "#q") {
    field?.focus();
  }
  // Hides what does not match while someone types. Enter searches on the server, which also knows what is on other pages.
  field?.addEventListener("input", () => {
    const text = field.value.trim().toLowerCase();
    for (const item of document.querySelectorAll(field.dataset.filters)) {
      item.hidden = !item.dataset.find.toLowerCase().includes(text);
    }
  });
});
