// For the pages that emails link to: the token is in the URL's fragment, which never leaves the browser. This moves it to the form's field and removes it from
// the URL. The tab keeps it, since a form that was refused as out of date is opened again by a URL without it. It loads before the first paint, so that
// there is no layout shift.
"use strict";
(() => {
  const KEY = `token ${location.pathname}`;
  // Some browsers block storage.
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
  // The link of another email was opened in this tab.
  addEventListener("hashchange", () => {
    const given = take();
    const field = document.getElementById("token");
    if (given && field?.type === "hidden") {
      // This page is about the first token. Reloaded, it asks for the new one.
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
      // The token is invalid: another one may be typed.
      kept((storage) => storage.removeItem(KEY));
      classes.remove("has-token");
    } else if (field && field.type !== "hidden") {
      field.value = token;
    }
  });
})();
