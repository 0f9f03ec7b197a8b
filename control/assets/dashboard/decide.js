// Of pages on which one press of a button decides much: such a button does something once the page has been in front of somebody for a second, so that a
// click that was meant for another page, which led here or stood in front of this one, decides nothing. Loaded before the page is drawn: there is no
// moment in which the button is there and this is not. It keeps the cursor, for whoever looks at a terminal in between and comes back.
"use strict";
(() => {
  const PAUSE = 1000;
  let isReady = false;
  let timer;

  const set = (ready, text) => {
    isReady = ready;
    document.querySelectorAll("[data-considered]").forEach((button) => button.setAttribute("aria-disabled", String(!ready)));
    document.querySelectorAll(".considering").forEach((place) => (place.textContent = text));
  };

  const begin = () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible" && document.hasFocus()) {
      set(false, "One moment: look at what asks.");
      timer = setTimeout(() => set(true, ""), PAUSE);
    } else {
      set(false, "Click anywhere on this page first.");
    }
  };

  // Before every other listener.
  addEventListener(
    "submit",
    (event) => {
      if (!isReady && event.target.querySelector("[data-considered]")) {
        event.preventDefault();
      }
    },
    true,
  );
  document.addEventListener("DOMContentLoaded", begin);
  addEventListener("pageshow", begin);
  addEventListener("focus", begin);
  addEventListener("blur", begin);
  document.addEventListener("visibilitychange", begin);
})();
