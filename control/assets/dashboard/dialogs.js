// A link with data-shows opens the page that it leads to as a dialog on this one: a question with a form. Where anything else comes of it, the link is
// followed as any link is.
"use strict";
(() => {
  let isOpening = false;

  const usable = () => document.createElement("dialog").showModal;

  const fetched = async (address) => {
    const answer = await fetch(address, { redirect: "error", headers: { Accept: "text/html" } });
    const page = answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
    return page?.querySelector("main form[method=post]") ? page.querySelector("main") : null;
  };

  const shown = (content) => {
    const dialog = document.createElement("dialog");
    dialog.append(...document.adoptNode(content).childNodes);
    // A page has one heading of the first rank.
    const heading = document.createElement("h2");
    const title = dialog.querySelector("h1");
    heading.id = "dialog-title";
    heading.append(...title.childNodes);
    title.replaceWith(heading);
    dialog.setAttribute("aria-labelledby", heading.id);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };

  document.addEventListener("click", async (event) => {
    if (event.target.closest("dialog [data-closes]")) {
      event.preventDefault();
      event.target.closest("dialog").close();
      return;
    }
    const link = event.target.closest("a[data-shows]");
    // Whoever wants a new tab gets one.
    if (!link || !usable() || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) {
      return;
    }
    event.preventDefault();
    // A second press while the first one's question comes.
    if (isOpening) {
      return;
    }
    isOpening = true;
    const content = await fetched(link.href).catch(() => null);
    isOpening = false;
    if (content) {
      shown(content);
    } else {
      location.assign(link.href);
    }
  });
})();
