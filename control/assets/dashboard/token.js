// Of the pages that mails lead to: the token stands behind the address's #, which never leaves the browser. It moves into the form's field, and out of
// the address. Loaded before the page is drawn, so that nothing moves.
"use strict";
(() => {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) {
    return;
  }
  document.documentElement.classList.add("has-token");
  history.replaceState(null, "", location.pathname + location.search);
  document.addEventListener("DOMContentLoaded", () => {
    const field = document.getElementById("token");
    if (field) {
      field.value = token;
    }
  });
})();
