// A link with the target #question opens its page as a dialog on this one: a confirmation with a form, which htmx fetches. If the response is anything else,
// or there is none, the link is followed like any other.
"use strict";
(() => {
  const dialog = document.createElement("dialog");
  dialog.id = "question";
  dialog.setAttribute("aria-labelledby", "question-title");
  dialog.addEventListener("close", () => dialog.replaceChildren());
  document.body.append(dialog);

  const follow = (link) => location.assign(link.href);

  document.addEventListener("htmx:before:swap", (event) => {
    const { ctx, tasks } = event.detail;
    if (!ctx.response.raw.ok || !tasks[0]?.fragment.querySelector("form[method=post]")) {
      event.preventDefault();
      follow(ctx.sourceElement);
    }
  });

  document.addEventListener("htmx:error", (event) => {
    if (event.detail.ctx) {
      follow(event.detail.ctx.sourceElement);
    }
  });

  document.addEventListener("htmx:after:swap", () => {
    const title = dialog.querySelector("h1");
    title.id = "question-title";
    // The key that opened this may be held down, and must not press a button here.
    dialog.querySelectorAll("[autofocus]").forEach((element) => element.removeAttribute("autofocus"));
    title.tabIndex = -1;
    title.autofocus = true;
    dialog.showModal();
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("dialog [data-closes]")) {
      event.preventDefault();
      event.target.closest("dialog").close();
    }
  });
})();
