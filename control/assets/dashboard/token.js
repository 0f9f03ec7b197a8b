// Of the pages that mails lead to: the token stands behind the address's #, which never leaves the browser. It moves into the form's field, and out of
// the address; the tab keeps it, for a form that was refused as out of date is opened again by an address without it. Loaded before the page is drawn, so
// that nothing moves.
"use strict";
(() => {
  const KEY = `token ${location.pathname}`;
  // Some browsers refuse to keep anything.
  const kept = (use) => {
    try {
      return use(sessionStorage);
    } catch {
      return null;
    }
  };

  const take = () => {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    if (given) {
      kept((storage) => storage.setItem(KEY, given));
      history.replaceState(null, "", location.pathname + location.search);
    }
    return given;
  };

  const classes = document.documentElement.classList;
  // Another link of another mail, opened where the page is already.
  addEventListener("hashchange", () => {
    const given = take();
    const field = document.getElementById("token");
    if (given && field?.type === "hidden") {
      // This page is about the first one. Shown anew, it asks for the next one's.
      location.replace(location.pathname + location.search);
    } else if (given && field) {
      field.value = given;
      field.removeAttribute("aria-invalid");
      classes.add("has-token");
    }
  });

  const token = take() ?? kept((storage) => storage.getItem(KEY));
  if (!token) {
    return;
  }
  classes.add("has-token");
  document.addEventListener("DOMContentLoaded", () => {
    const field = document.getElementById("token");
    if (field?.getAttribute("aria-invalid")) {
      // It leads nowhere: another one may be typed.
      kept((storage) => storage.removeItem(KEY));
      classes.remove("has-token");
    } else if (field && field.type !== "hidden") {
      field.value = token;
    }
  });
})();
